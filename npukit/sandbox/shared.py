"""What is installed, read from package metadata alone: nothing is imported and pip is not asked."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

PROTECTED = (
    *("torch", "torch-npu", "torchvision", "torchaudio", "numpy"),
    *("triton", "triton-ascend", "vllm", "vllm-ascend"),
)
"""Packages bound to the machine's driver and to each other: always used as installed, never sandboxed."""


@dataclass(frozen=True)
class Installed:
    """One distribution: its canonical name, version, and the requirements it declares."""

    name: str
    version: str
    requires: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shared:
    """The environment npukit was started in, or the one that ``path`` (as sys.path) would give."""

    path: tuple[str, ...] | None = None

    @cached_property
    def packages(self) -> Mapping[str, Installed]:
        """Every distribution by canonical name; the first on the path wins, as it does for import."""
        return read_packages(sys.path if self.path is None else self.path)

    def pins(self) -> tuple[str, ...]:
        """The protected packages found here, as constraints. A local label (``+cpu``) is left out: an
        index may lack that build, and ``==2.9.0`` is met by an installed ``2.9.0+cpu``."""
        return tuple(
            f"{name}=={self.packages[name].version.partition('+')[0]}"
            for name in PROTECTED
            if name in self.packages
        )


def read_packages(path: Iterable[str]) -> dict[str, Installed]:
    """Distributions on ``path`` by canonical name."""
    found: dict[str, Installed] = {}
    for each in metadata.distributions(path=list(path)):
        name = each.metadata["Name"] if each.metadata else None
        if name and (key := canonicalize_name(name)) not in found:
            found[key] = Installed(key, each.version, tuple(each.requires or ()))
    return found


def unmet(requires: Iterable[str], packages: Mapping[str, Installed]) -> list[str]:
    """Those of ``requires`` (and of the extras they name) that ``packages`` do not meet, in words."""
    missing = []
    for text in requires:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        have = packages.get(canonicalize_name(wanted.name))
        if have is None:
            missing.append(f"{text}: not installed")
        elif not wanted.specifier.contains(have.version, prereleases=True):
            missing.append(f"{text}: {have.version} is installed")
        else:
            missing += unmet(_of_extras(have, wanted.extras), packages)
    return missing


def _of_extras(package: Installed, extras: set[str]) -> list[str]:
    """The requirements that ``package`` declares for ``extras`` alone, without their markers."""
    chosen = []
    for text in package.requires:
        each = Requirement(text)
        marker = each.marker
        if (
            marker
            and not marker.evaluate({"extra": ""})
            and any(marker.evaluate({"extra": e}) for e in extras)
        ):
            each.marker = None
            chosen.append(str(each))
    return chosen


def declared(package: Installed) -> list[Requirement]:
    """What ``package`` requires on this machine, extras aside. Lines no standard can read are passed over,
    as pip's own resolver does with legacy metadata."""
    found = []
    for text in package.requires:
        try:
            each = Requirement(text)
        except InvalidRequirement:
            continue
        if each.marker is None or each.marker.evaluate({"extra": ""}):
            found.append(each)
    return found


def interpreter() -> str:
    """Names the builds that this interpreter can load: version, platform and ABI."""
    return str(
        sysconfig.get_config_var("SOABI") or f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    )


def at(directory: Path) -> dict[str, Installed]:
    """Distributions that lie in ``directory`` itself."""
    return read_packages([str(directory)])
