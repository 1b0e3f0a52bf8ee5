"""A model's own code: which files would run, by content, and whether their user agreed to just these.

A recipe that needs such code may pin the sha256 of each file; those and no others can then be agreed to. What
was agreed to is kept in ``$NPUKIT_HOME/models/<model>/agreed-code.json`` and compared every time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from npukit.errors import NpukitError
from npukit.fingerprint import file_sha256
from npukit.workspace import read_json, write_json

AGREED = "agreed-code.json"


def code_files(directory: Path) -> dict[str, str]:
    """The sha256 of every Python file below ``directory``. All of them count: one may import another."""
    files = sorted(
        path for path in directory.rglob("*.py") if not path.relative_to(directory).parts[0].startswith(".")
    )
    return {path.relative_to(directory).as_posix(): file_sha256(path) for path in files}


def agreed(model_dir: Path) -> dict[str, str] | None:
    """What was agreed to run for this model, or none."""
    document = read_json(model_dir / AGREED)
    files = document.get("files") if isinstance(document, dict) else None
    return files if isinstance(files, dict) else None


def require(directory: Path, pins: Mapping[str, str], model_dir: Path, agree: bool = False) -> dict[str, str]:
    """The files that may run. With ``agree`` the user says so now, and it is kept.

    Raises remote-code.changed when they are not the pinned, or not the agreed ones; remote-code.refused when
    nobody agreed yet.
    """
    files = code_files(directory)
    if pins and (changes := differences(pins, files)):
        raise NpukitError("remote-code.pinned", files=changes)
    before = agreed(model_dir)
    if agree:
        if before != files:
            write_json(model_dir / AGREED, {"files": files})
    elif before is None:
        raise NpukitError("remote-code.refused", directory=str(directory), files=listing(files))
    elif changes := differences(before, files):
        raise NpukitError("remote-code.changed", files=changes)
    return files


def listing(files: Mapping[str, str]) -> str:
    """One line a file: its sha256 and its path, as sha256sum prints them."""
    return "\n".join(f"{sha256}  {path}" for path, sha256 in files.items())


def differences(wanted: Mapping[str, str], found: Mapping[str, str]) -> str:
    """In words how ``found`` differs; empty when it does not."""
    lines = []
    for path in sorted({*wanted, *found}):
        old, new = wanted.get(path), found.get(path)
        if old is None:
            lines.append(f"{path} is new ({new})")
        elif new is None:
            lines.append(f"{path} is gone")
        elif old != new:
            lines.append(f"{path} is {new}, was {old}")
    return "\n".join(lines)
