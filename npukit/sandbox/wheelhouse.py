"""Wheels gathered on a machine with a network, for one without: ``patch --download`` and ``--wheelhouse``."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from npukit.errors import NpukitError
from npukit.sandbox.pip import Pip
from npukit.sandbox.plan import Package, checked, package_of
from npukit.sandbox.shared import PROTECTED, Shared
from npukit.workspace import read_json, write_json

MANIFEST = "npukit-wheelhouse.json"


@dataclass(frozen=True)
class Target:
    """The machine the wheels are for; empty texts mean this one. ``machine`` as ``uname -m`` prints it."""

    machine: str = ""
    python: str = ""

    def __post_init__(self) -> None:
        if self.machine not in ("", "aarch64", "x86_64") or not re.fullmatch(r"(3\.\d+)?", self.python):
            raise NpukitError("sandbox.bad-target", platform=self.machine, python=self.python)

    def options(self) -> list[str]:
        """For pip: glibc from 2.17 to 2.28, which every Ascend image has (openEuler 20.03 has 2.28)."""
        chosen = ["--only-binary=:all:"]
        if self.machine:
            tags = [f"manylinux_2_{minor}" for minor in range(28, 16, -1)]
            chosen += [f"--platform={tag}_{self.machine}" for tag in (*tags, "manylinux2014")]
        if self.python:
            chosen += [f"--python-version={self.python}", "--implementation=cp"]
        return chosen

    def markers(self) -> dict[str, str]:
        """The values of environment markers there. pip itself reads markers as of this machine."""
        values: dict[str, str] = {**default_environment(), "extra": ""}  # type: ignore[dict-item]
        if self.machine:
            values.update(
                platform_machine=self.machine, sys_platform="linux", platform_system="Linux", os_name="posix"
            )
        if self.python:
            values.update(python_version=self.python, python_full_version=f"{self.python}.0")
        return values


def download(
    requires: Sequence[str], directory: Path, target: Target, pip: Pip | None = None
) -> list[Package]:
    """Fill ``directory`` with what ``requires`` may need on ``target``.

    That is everything but the protected packages, for what is installed there is not known here.
    Raises what Pip raises.
    """
    pip = pip or Pip()
    rows = _closure(checked(requires), target, pip)
    packages = sorted((package_of(row, Shared(path=()).get) for row in rows), key=lambda each: each.name)
    with tempfile.TemporaryDirectory() as scratch:
        lock = Path(scratch, "lock.txt")
        lock.write_text("\n".join(each.locked for each in packages) + "\n", encoding="utf-8")
        pip(
            "download", "--no-deps", "--require-hashes", "-r", str(lock), "--dest", str(directory.resolve()),
            *target.options(), about=", ".join(requires),
        )  # fmt: skip
    wheels = {each.file: each.sha256 for each in packages}
    write_json(directory / MANIFEST, {"requires": list(requires), "wheels": wheels})
    return packages


def opened(directory: Path) -> Path:
    """``directory``, checked against its manifest where it has one. Raises sandbox.no-wheelhouse, damaged."""
    if not directory.is_dir():
        raise NpukitError("sandbox.no-wheelhouse", directory=str(directory))
    manifest = read_json(directory / MANIFEST)
    for file, sha256 in (manifest or {}).get("wheels", {}).items():
        wheel = directory / Path(file).name
        if not wheel.is_file() or hashlib.sha256(wheel.read_bytes()).hexdigest() != sha256:
            raise NpukitError("sandbox.damaged-wheelhouse", directory=str(directory), file=file)
    return directory


def _closure(requires: Sequence[str], target: Target, pip: Pip) -> list[dict[str, Any]]:
    """Resolve until nothing is missing that a marker asks for on the target and not on this machine."""
    asked = list(requires)
    while True:
        rows = _resolve(asked, target, pip)
        reached, absent = walk(asked, rows, target.markers())
        if not absent:
            return [rows[name] for name in reached]
        asked += absent


def walk(
    asked: Iterable[str], rows: Mapping[str, Mapping[str, Any]], markers: dict[str, str]
) -> tuple[list[str], list[str]]:
    """Names reached from ``asked`` but not through a protected package; requirements that ``rows`` lack."""
    reached: dict[str, set[str]] = {}
    absent: list[str] = []
    todo = [Requirement(text) for text in asked]
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        if name in PROTECTED or (name in reached and wanted.extras <= reached[name]):
            continue
        if name not in rows:
            wanted.marker = None
            absent.append(str(wanted))
            continue
        extras = reached.setdefault(name, set())
        extras |= wanted.extras
        for text in rows[name]["metadata"].get("requires_dist", ()):
            each = Requirement(text)
            if each.marker is None or any(
                each.marker.evaluate({**markers, "extra": e}) for e in ("", *extras)
            ):
                todo.append(each)
    return sorted(reached), absent


def _resolve(asked: Sequence[str], target: Target, pip: Pip) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        pip(
            "install", "--dry-run", "--ignore-installed", "--target", str(Path(scratch, "nowhere")),
            "--report", str(report), *target.options(), *asked, about=", ".join(asked),
        )  # fmt: skip
        rows = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {canonicalize_name(row["metadata"]["name"]): row for row in rows}
