"""What is installed, read from package metadata alone: nothing is imported and pip is not asked."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
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


Find = Callable[[str], "Installed | None"]
"""Looks a distribution up by its canonical name."""


@dataclass(frozen=True)
class Shared:
    """The environment npukit was started in, or the one that ``path`` (as sys.path) would give.

    Looking one package up reads its metadata alone; an environment may hold hundreds.
    """

    path: tuple[str, ...] | None = None
    _known: dict[str, Installed | None] = field(default_factory=dict, compare=False, repr=False)

    def get(self, name: str) -> Installed | None:
        """The distribution of this canonical name; the first on the path wins, as it does for import."""
        if name not in self._known:
            self._known[name] = next(iter(_read(self._path(), name)), None)
        return self._known[name]

    def everything(self) -> list[Installed]:
        """Every distribution, each once."""
        return list({each.name: each for each in reversed(list(_read(self._path())))}.values())

    def pins(self) -> tuple[str, ...]:
        """The protected packages found here, as constraints. A local label (``+cpu``) is left out: an
        index may lack that build, and ``==2.9.0`` is met by an installed ``2.9.0+cpu``."""
        return tuple(
            f"{name}=={have.version.partition('+')[0]}" for name in PROTECTED if (have := self.get(name))
        )

    def _path(self) -> list[str]:
        return list(sys.path if self.path is None else self.path)


def _read(path: list[str], name: str | None = None) -> Iterator[Installed]:
    """Distributions on ``path``, in its order. A half-removed package has no metadata, and is none."""
    for each in metadata.distributions(path=path, name=name):
        found = each.metadata["Name"] if each.metadata else None
        if found:
            yield Installed(canonicalize_name(found), each.version, tuple(each.requires or ()))


def unmet(requires: Iterable[str], find: Find) -> list[str]:
    """Those of ``requires`` (and of the extras they name) that are not met by what ``find`` finds."""
    missing = []
    for text in requires:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        have = find(canonicalize_name(wanted.name))
        if have is None:
            missing.append(f"{text}: not installed")
        elif not wanted.specifier.contains(have.version, prereleases=True):
            missing.append(f"{text}: {have.version} is installed")
        else:
            missing += unmet(_of_extras(have, wanted.extras), find)
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
    """Distributions that lie in ``directory`` itself, by name."""
    return {each.name: each for each in _read([str(directory)])}
