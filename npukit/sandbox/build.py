"""Install a plan into a directory of its own, aside, and move it into place when it is whole."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from npukit.alone import alone
from npukit.sandbox.pip import Pip
from npukit.sandbox.plan import Plan
from npukit.sandbox.proof import Sandbox, find, read, seal
from npukit.sandbox.shared import Shared, interpreter


def build(plan: Plan, root: Path, shared: Shared | None = None, pip: Pip | None = None) -> Sandbox:
    """The sandbox of ``plan`` under ``root``: the one that stands there if it is whole, else a new one.

    A second caller waits for the first and takes what it built.
    Raises sandbox.incomplete, and what Pip raises.
    """
    root.mkdir(parents=True, exist_ok=True)
    pip = pip or Pip()
    pip = replace(pip, cache=pip.cache or root / ".pip")
    with alone(root):
        if ready := find(plan.requires, root, shared, deep=True):
            return ready
        _sweep(root)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=root) as aside:
            _install(plan, Path(aside, "sandbox"), Path(aside, "lock.txt"), pip)
            box = seal(Path(aside, "sandbox"), plan, shared)
            place = root / name(plan)
            if place.exists():  # broken, or it would have been found
                place.rename(Path(aside, "broken"))
            Path(aside, "sandbox").rename(place)
    return replace(box, path=place)


def remove(root: Path, requires: Sequence[str] | None = None) -> list[Path]:
    """Remove the sandboxes of ``requires``; without it all of them, broken ones too. Returns what went."""
    if not root.is_dir():
        return []
    gone = []
    with alone(root):
        _sweep(root)
        for place in sorted(each for each in root.glob("[!.]*") if each.is_dir()):
            box = read(place)
            if requires is None or (box and sorted(box.requires) == sorted(requires)):
                gone.append(place)
                # Out of sight in one step: nobody finds a sandbox that is half gone.
                place.rename(hidden := root / f".building-{place.name}")
                shutil.rmtree(hidden)
    return gone


def name(plan: Plan) -> str:
    """Readable, and different wherever the packages, their files or the interpreter differ."""
    content = "\n".join([interpreter(), *sorted(plan.requires), *(each.locked for each in plan.packages)])
    wanted = canonicalize_name(Requirement(plan.requires[0]).name)
    head = next((f"{each.name}-{each.version}" for each in plan.packages if each.name == wanted), wanted)
    return f"{head}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def _install(plan: Plan, target: Path, lock: Path, pip: Pip) -> None:
    lock.write_text("\n".join(each.locked for each in plan.packages) + "\n", encoding="utf-8")
    pip(
        "install", "--no-deps", "--require-hashes", "--no-compile", "--upgrade", "--target", str(target),
        "-r", str(lock), about=", ".join(plan.requires),
    )  # fmt: skip


def _sweep(root: Path) -> None:
    """Remove what a killed build left. The lock is held, so none of it is in use."""
    for left in root.glob(".building-*"):
        shutil.rmtree(left)
