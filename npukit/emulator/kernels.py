"""Which aten operators a torch_npu has kernels for, read from the YAML in its wheel; nothing is imported."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from npukit.errors import NpukitError

YAML = "torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml"
# The CPU's own choice for an operator that torch_npu serves with another one.
REPLACED = {"aten::_scaled_dot_product_flash_attention_for_cpu": "npu::npu_fusion_attention_v3"}


@dataclass(frozen=True)
class Kernels:
    """The operators of one torch_npu: names with overload, as ``aten::add.Tensor``."""

    torch_npu: str
    names: frozenset[str]

    def kind(self, name: str, composite: bool) -> str:
        """``kernel``: its own or its out variant's; ``replaced``: by a fused one; ``composite``: made of
        others; ``fallback``: run on the CPU, with copies there and back."""
        if name in REPLACED:
            return "replaced"
        base, _, overload = name.partition(".")
        variants = {name, f"{base}.out", f"{base}.{overload}_out"}
        if variants & self.names:
            return "kernel"
        return "composite" if composite or name.startswith("prim") else "fallback"


def read_kernels(wheel: Path | None = None) -> Kernels:
    """The kernels of a torch_npu wheel, or of the one that is installed.

    Errors: ``emulator.no-package``, ``emulator.no-kernels``.
    """
    if wheel is not None:
        try:
            with zipfile.ZipFile(wheel) as archive:
                text = archive.read(YAML).decode()
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise NpukitError("emulator.no-kernels", path=str(wheel), reason=str(error)) from error
        return Kernels(wheel.name.split("-")[1], names_in(text))
    found = importlib.util.find_spec("torch_npu")
    try:
        installed = version("torch_npu")
    except PackageNotFoundError:
        found = None
    if found is None or not found.submodule_search_locations:
        raise NpukitError("emulator.no-kernels", path="torch_npu", reason="not installed")
    file = Path(next(iter(found.submodule_search_locations))).parent / YAML
    if not file.is_file():
        raise NpukitError("emulator.no-kernels", path=str(file), reason="not there")
    return Kernels(installed, names_in(file.read_text(encoding="utf-8")))


def names_in(text: str) -> frozenset[str]:
    """The operators that the YAML lists, whichever way they are written."""
    import yaml

    document = yaml.safe_load(text)
    names: set[str] = set()
    for section in ("supported", "symint", "autograd"):
        names |= {f"aten::{name}" for name in _functions(document.get(section) or ())}
    names |= {f"npu::{name}" for name in _functions(document.get("custom") or ())}
    return frozenset(names)


def _functions(entries: Iterable[object]) -> set[str]:
    texts = (entry.get("func", "") if isinstance(entry, dict) else str(entry) for entry in entries)
    return {str(text).partition("(")[0].strip() for text in texts if text}
