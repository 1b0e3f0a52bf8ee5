"""What must be added beside the shared environment so that a model's requirements are met."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from npukit.errors import NpukitError
from npukit.sandbox.pip import Pip
from npukit.sandbox.shared import PROTECTED, Find, Installed, Shared, declared, unmet


@dataclass(frozen=True)
class Package:
    """One distribution for the sandbox; ``replaces`` is the shared version it stands in front of."""

    name: str
    version: str
    file: str
    sha256: str
    replaces: str | None = None

    @property
    def locked(self) -> str:
        """A line of a pip requirements file that admits this very file only."""
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}"


@dataclass(frozen=True)
class Conflict:
    """A shared package whose own requirement does not admit what the sandbox brings."""

    package: str
    wants: str
    gets: str


@dataclass(frozen=True)
class Plan:
    """``packages`` is empty when what is installed serves; ``reasons`` says what it lacks."""

    requires: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    packages: tuple[Package, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    @property
    def needed(self) -> bool:
        return bool(self.reasons)


def lacking(requires: Iterable[str], shared: Shared | None = None) -> list[str]:
    """What the installed versions do not meet, in words; empty when they serve. Neither pip nor a network.

    Raises sandbox.bad-requirement.
    """
    return unmet(checked(requires), (shared or Shared()).get)


def checked(requires: Iterable[str]) -> tuple[str, ...]:
    """``requires``, each of them readable. Raises sandbox.bad-requirement."""
    requires = tuple(requires)
    if faults := unreadable(requires):
        raise NpukitError("sandbox.bad-requirement", faults="\n".join(faults))
    return requires


def unreadable(requires: Iterable[str]) -> list[str]:
    """Those of ``requires`` that are no package requirements, in words."""
    faults = []
    for text in requires:
        try:
            Requirement(text)
        except InvalidRequirement as error:
            faults.append(f"{text!r}: {str(error).splitlines()[0]}")
    return faults


def plan(requires: Iterable[str], shared: Shared | None = None, pip: Pip | None = None) -> Plan:
    """Resolve ``requires`` beside ``shared`` with the protected packages pinned as installed.

    Raises sandbox.protected when that would bring a protected package, and what Pip raises.
    """
    requires = tuple(requires)
    shared = shared or Shared()
    reasons = tuple(lacking(requires, shared))
    if not reasons:
        return Plan(requires)
    report = _resolve(requires, shared, pip or Pip())
    packages = tuple(sorted((package_of(row, shared.get) for row in report), key=lambda each: each.name))
    if taken := [each.name for each in packages if each.name in PROTECTED]:
        raise NpukitError("sandbox.protected", requires=", ".join(requires), packages=", ".join(taken))
    return Plan(requires, reasons, packages, tuple(conflicts(packages, shared.everything())))


def conflicts(packages: Iterable[Package], shared: Iterable[Installed]) -> list[Conflict]:
    """Shared packages that stay in use and whose own pins ``packages`` break."""
    brought = {each.name: each.version for each in packages}
    return [
        Conflict(f"{other.name} {other.version}", str(wanted), f"{wanted.name} {brought[name]}")
        for other in shared
        if other.name not in brought
        for wanted in declared(other)
        if (name := canonicalize_name(wanted.name)) in brought
        and not wanted.specifier.contains(brought[name], prereleases=True)
    ]


def _resolve(requires: tuple[str, ...], shared: Shared, pip: Pip) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        pins, report = Path(scratch, "pins.txt"), Path(scratch, "report.json")
        pins.write_text("\n".join(shared.pins()), encoding="utf-8")
        # Without --target: pip then takes what is installed into account, and reports only what it would add.
        pip(
            "install",
            "--dry-run",
            "--report",
            str(report),
            "-c",
            str(pins),
            *requires,
            about=", ".join(requires),
        )
        rows: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
    return rows


def package_of(row: Mapping[str, Any], find: Find) -> Package:
    """One row of pip's installation report (its format version 1). Raises sandbox.unhashed."""
    name, version = canonicalize_name(row["metadata"]["name"]), row["metadata"]["version"]
    source = row["download_info"]
    archive = source.get("archive_info", {})
    # pip before 23.1 writes {"hash": "sha256=..."} alone
    sha256 = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").removeprefix("sha256=")
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise NpukitError("sandbox.unhashed", package=f"{name} {version}")
    have = find(name)
    file = PurePosixPath(unquote(urlsplit(source["url"]).path)).name
    return Package(name, version, file, sha256, have.version if have else None)
