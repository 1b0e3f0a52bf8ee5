"""Reading op-plugin's YAML and the compiler's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukit.emulator.extract_signatures import TOLD, _kind, _split, from_yaml, names_of

WARNING = """probe.hpp:24:70: warning: 'void abi_of(A ...) [with Tag = op_api::add(const at::Tensor&, const \
c10::Scalar&)::PROBE_aclnnAdds; A = {aclTensor*, aclScalar*, long int, char*}]' is deprecated
"""
YAML = """
custom:
  - func: abs(Tensor self) -> Tensor
    gen_opapi: {out: {size: self, dtype: self}, exec: aclnnAbs}
  - func: cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)
    gen_opapi:
      new_params: {kind: "dtype.value_or(x)", text: "(char *)x"}
      exec: "aclnnCumsum, self, dim, kind, text, out"
  - func: relu_(Tensor(a!) self) -> Tensor(a!)
    gen_opapi: {exec: aclnnInplaceRelu}
  - func: not_generated(Tensor self) -> Tensor
"""


def test_the_compilers_warning_is_read() -> None:
    ((name, types),) = TOLD.findall(WARNING)
    assert name == "aclnnAdds"
    assert [_kind(text) for text in _split(types)] == ["tensor", "scalar", "int64", "text"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("const aclTensor*", "tensor"), ("signed char", "int8"), ("Odd", "?Odd"), ("float", "float")],
)
def test_types_have_kinds(text: str, kind: str) -> None:
    assert _kind(text) == kind


def test_generated_calls_are_read_from_yaml(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    config = tmp_path / "op_plugin" / "config"
    config.mkdir(parents=True)
    (config / "op_plugin_functions.yaml").write_text(YAML)
    assert from_yaml(tmp_path) == {
        "aclnnAbs": {("tensor", "tensor")},
        "aclnnCumsum": {("tensor", "int64", "dtype", "text", "tensor")},
        "aclnnInplaceRelu": {("tensor",)},
    }


def test_names_are_found_in_the_library(tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(b"\0aclnnAddGetWorkspaceSize\0 xaclnnMishGetWorkspaceSize\0aclStftGetWorkspaceSize\0")
    assert names_of(library) == {"aclnnAdd", "aclnnMish", "aclStft"}
