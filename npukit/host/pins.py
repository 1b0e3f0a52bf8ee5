"""Requirements between packages that the installed versions break, and what CANN's Python side lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from npukit.host.machine import Package
from npukit.host.packages import IDENTITY, canonical
from npukit.host.verdict import Verdict, Voice

# CANN's operator compiler imports these, and no wheel brings them (vllm-ascend's installation page).
CANN_PYTHON = (
    "attrs",
    "decorator",
    "sympy",
    "cffi",
    "pyyaml",
    "psutil",
    "protobuf",
    "scipy",
    "requests",
    "absl-py",
)


@dataclass(frozen=True)
class BrokenPin:
    """``package`` asks for ``wants``; ``has`` is the installed version, "" when it is not installed."""

    package: str
    wants: str
    has: str


def broken_pins(packages: Mapping[str, Package], names: tuple[str, ...] = IDENTITY) -> tuple[BrokenPin, ...]:
    """Checks the packages that decide what a model does, not everything that is installed."""
    broken = []
    for name in names:
        owner = packages.get(canonical(name))
        for text in owner.requires if owner else ():
            wanted = _requirement(text)
            if wanted is None or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
                continue
            has = packages.get(canonical(wanted.name), Package(""))
            if not has.version or not _satisfies(wanted, has.version):
                broken.append(BrokenPin(name, f"{wanted.name}{wanted.specifier}", has.version))
    return tuple(broken)


def missing_cann_python(packages: Mapping[str, Package]) -> tuple[str, ...]:
    return tuple(name for name in CANN_PYTHON if canonical(name) not in packages)


def judge_pins(broken: tuple[BrokenPin, ...], voice: Voice) -> list[Verdict]:
    if not broken:
        return []
    told = "; ".join(f"{pin.package} wants {pin.wants}, has {pin.has or 'none'}" for pin in broken)
    install = " ".join(f'"{pin.wants}"' for pin in broken)
    return [voice.warn("packages.pins", told=told, install=install)]


def judge_cann_python(missing: tuple[str, ...], voice: Voice) -> list[Verdict]:
    """Only asked where CANN and torch_npu are both there."""
    return [voice.warn("cann.python_packages", names=" ".join(missing))] if missing else []


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _satisfies(wanted: Requirement, version: str) -> bool:
    try:
        return wanted.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return True  # a vendor's own numbering: nothing can be said
