"""Which operators a torch_npu has kernels for."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from npukit.emulator.kernels import YAML, read_kernels
from npukit.errors import NpukitError

pytest.importorskip("yaml")
TEXT = """
backend: NPU
supported:
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
- sort.stable
- func: cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)
symint:
- empty.memory_format
custom:
- func: npu_swiglu(Tensor self, int dim=-1) -> Tensor
autograd:
- func: _thnn_fused_gru_cell(Tensor a) -> Tensor
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "torch_npu-2.9.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(YAML, TEXT)
    return path


@pytest.mark.parametrize(
    ("name", "composite", "kind"),
    [
        ("aten::add.Tensor", False, "kernel"),
        ("aten::sort.stable", False, "kernel"),
        ("aten::cumsum", False, "kernel"),  # served by its out variant
        ("aten::empty.memory_format", True, "kernel"),
        ("npu::npu_swiglu", False, "kernel"),
        ("aten::new_zeros", True, "composite"),
        ("aten::masked_scatter", False, "fallback"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", False, "replaced"),
    ],
)
def test_kinds(wheel: Path, name: str, composite: bool, kind: str) -> None:
    kernels = read_kernels(wheel)
    assert kernels.torch_npu == "2.9.0"
    assert kernels.kind(name, composite) == kind


def test_a_file_that_is_no_wheel_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "torch_npu-1.whl"
    path.write_text("no zip")
    with pytest.raises(NpukitError) as failed:
        read_kernels(path)
    assert failed.value.code == "emulator.no-kernels" and str(path) in failed.value.message().what
