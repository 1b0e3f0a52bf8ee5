"""What torch_npu passes to each operator, read from op-plugin, and what the emulator's operators take.

A wrong signature does not fail: it computes with another argument's bits. So it is compared, not trusted.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("signatures.txt")
Kinds = tuple[str, ...]


@dataclass(frozen=True)
class Mismatch:
    """An operator that is called in a way it is not written for."""

    name: str
    called: tuple[Kinds, ...]
    written: Kinds


def expected_signatures(table: Path = TABLE) -> dict[str, set[Kinds]]:
    """Name to the kinds of its arguments, one tuple for each way in which op-plugin calls it.

    The kind ``*`` stands for a null pointer of any type.
    """
    lines = [line.split() for line in table.read_text().splitlines() if line and not line.startswith("#")]
    signatures: dict[str, set[Kinds]] = {}
    for name, *kinds in lines:
        signatures.setdefault(name, set()).add(tuple(kinds))
    return signatures


def written_signatures(library: Path) -> dict[str, Kinds]:
    """Name to the kinds of arguments that the emulator's operator takes; ``library`` as ``build`` returns it.

    Loads the library, which needs libtorch in the process: import torch before.
    """
    ctypes.CDLL(str(library / "lib64" / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)
    opapi = ctypes.CDLL(str(library / "lib64" / "libopapi.so"))
    opapi.npukit_emulator_signatures.restype = ctypes.c_char_p
    lines = opapi.npukit_emulator_signatures().decode().splitlines()
    return {name: tuple(kinds) for name, *kinds in (line.split() for line in lines)}


def compare(expected: dict[str, set[Kinds]], written: dict[str, Kinds]) -> list[Mismatch]:
    """The operators whose written signature agrees with none of the ways in which they are called."""
    return [
        Mismatch(name, tuple(sorted(expected[name])), kinds)
        for name, kinds in sorted(written.items())
        if name in expected and not any(_agree(called, kinds) for called in expected[name])
    ]


def _agree(called: Kinds, written: Kinds) -> bool:
    same = len(called) == len(written)
    return same and all(a in ("*", b) for a, b in zip(called, written, strict=True))
