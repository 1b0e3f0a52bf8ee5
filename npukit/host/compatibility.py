"""Whether torch, torch_npu, CANN, numpy and Python go together, by npukit/knowledge/compatibility.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from packaging.version import InvalidVersion, Version

from npukit.host.verdict import Verdict, Voice
from npukit.toml import load_toml

TABLE = Path(__file__).parents[1] / "knowledge" / "compatibility.toml"
NUMPY_1_UP_TO = (8, 2)  # CANN's operator compiler before 8.3 does not start under NumPy 2


@dataclass(frozen=True)
class Row:
    """What is published for one torch: the Pythons (lowest, highest) and the CANN of each torch_npu."""

    torch: str
    python: tuple[str, str]
    cann: dict[str, str]


@dataclass(frozen=True)
class Installed:
    """Versions as found; "" for what is not there or does not tell."""

    torch: str
    torch_npu: str
    cann: str
    python: str
    numpy: str = ""


@cache
def rows() -> tuple[Row, ...]:
    return tuple(
        Row(row["version"], (row["python"][0], row["python"][1]), row["torch_npu"])
        for row in load_toml(TABLE)["torch"]
    )


def expected_cann(torch_npu: str) -> str:
    """The CANN published for this torch_npu or for the nearest one before it; "" when none is."""
    wanted = _version(torch_npu)
    known = [
        (Version(name), cann)
        for row in rows()
        for name, cann in row.cann.items()
        if wanted and Version(name).release == wanted.release and Version(name) <= Version(wanted.public)
    ]
    return max(known)[1] if known else ""


def torch_npu_for(torch: str, cann: str) -> str:
    """The torch_npu to install beside this torch: the one published for this CANN, else the newest known."""
    base = _base(torch)
    row = next((row for row in rows() if row.torch == base), None)
    if row is None or not row.cann:
        return base
    fitting = [name for name, wants in row.cann.items() if cann and cann_key(wants)[:2] == cann_key(cann)[:2]]
    return max(fitting or row.cann, key=Version)


def cann_key(version: str) -> tuple[int, int, int, int]:
    """Orders CANN's names: 8.0.RC3 < 8.0.0 < 8.1.RC1 < 8.5.0 < 8.5.1."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:3]]
    major, minor, third = [*numbers, 0, 0, 0][:3]
    released = not re.search(r"\.(RC|T)\d", version, re.IGNORECASE)
    return major, minor, int(released), third


def judge_compatibility(found: Installed, imports: bool, voice: Voice) -> list[Verdict]:
    """``imports`` tells whether torch_npu was seen to import: then nothing here can be fatal."""
    torch, torch_npu = _version(found.torch), _version(found.torch_npu)
    if torch is None or torch_npu is None:
        return []
    names = {"torch": found.torch, "torch_npu": found.torch_npu, "cann": found.cann, "python": found.python}
    best = torch_npu_for(found.torch, found.cann)
    if torch.release[:3] != torch_npu.release[:3]:
        severe = torch.release[:2] != torch_npu.release[:2] and not imports
        return [(voice.fail if severe else voice.warn)("versions.mismatch", best=best, **names)]
    verdicts = []
    expected = expected_cann(found.torch_npu)
    if found.cann and expected and cann_key(found.cann)[:2] != cann_key(expected)[:2]:
        older = cann_key(found.cann) < cann_key(expected)
        name = "versions.cann_older" if older else "versions.cann_newer"
        verdicts.append(voice.warn(name, expected=expected, best=best, **names))
    row = next((row for row in rows() if row.torch == _base(found.torch)), None)
    if row and not _minor(row.python[0]) <= _minor(found.python) <= _minor(row.python[1]):
        verdicts.append(voice.warn("versions.python", low=row.python[0], high=row.python[1], **names))
    if found.cann and cann_key(found.cann)[:2] <= NUMPY_1_UP_TO and (found.numpy or "1").startswith("2"):
        verdicts.append(voice.warn("versions.numpy", numpy=found.numpy, **names))
    if not verdicts:
        known = f" with CANN {found.cann}" if found.cann else ""
        verdicts.append(
            voice.ok("versions.pair", f"torch {found.torch} and torch_npu {found.torch_npu}{known}")
        )
    return verdicts


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _base(text: str) -> str:
    version = _version(text)
    return ".".join(str(part) for part in version.release[:3]) if version else text


def _minor(python: str) -> tuple[int, ...]:
    return tuple(int(part) for part in python.split(".")[:2])
