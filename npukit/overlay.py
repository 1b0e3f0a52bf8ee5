"""A model directory with edited copies in it: links to the files as they are, own files where patches act.

    composed = compose(source, choose(recipe.runtime.patches), Situation("4.57.6"))
    composed.diff()                      # what would change
    overlay = write(composed, place)     # $NPUKIT_HOME/models/<name>/patched/
    undo(place)

The source is only read. Patches are always applied to it afresh, so applying twice changes nothing and
undoing is exact: the overlay goes, nothing else was touched.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npukit.alone import alone
from npukit.errors import NpukitError
from npukit.fingerprint import file_sha256
from npukit.patches import Chosen, Situation
from npukit.patches.base import Streamed
from npukit.patches.renamed_weights import RenamedWeights
from npukit.patches.tree import Tree
from npukit.workspace import building, read_json, write_json

FORMAT = 1
PROOF = "npukit-patches.json"


@dataclass(frozen=True)
class Step:
    """What one patch did, or why it did nothing: ``files`` are those it changed."""

    name: str
    note: str
    files: tuple[str, ...]
    options: Mapping[str, Any]
    worker: tuple[dict[str, Any], ...] = ()
    account: Mapping[str, Any] = field(default_factory=dict)

    @property
    def acts(self) -> bool:
        return bool(self.files or self.worker)


@dataclass(frozen=True)
class Composed:
    """All patches applied in memory. ``before`` are the sha256 of the changed files as they are published."""

    source: Path
    steps: tuple[Step, ...]
    edits: Mapping[str, bytes | Streamed]
    before: Mapping[str, str]

    @property
    def worker(self) -> list[dict[str, Any]]:
        """What the worker has to do before it loads the model."""
        return [entry for step in self.steps for entry in step.worker]

    def diff(self) -> str:
        """A unified diff of every changed file; of renamed weights, the lines of their headers."""
        return "".join(self._diff(file, content) for file, content in sorted(self.edits.items()))

    def _diff(self, file: str, content: bytes | Streamed) -> str:
        if isinstance(content, bytes):
            old, new = (self.source / file).read_bytes(), content
            before, after = (text.decode("utf-8").splitlines(keepends=True) for text in (old, new))
        else:
            before = [f"{line}\n" for line in RenamedWeights(self.source / file, {}).describe()]
            after = [f"{line}\n" for line in content.describe()]
        lines = difflib.unified_diff(before, after, f"a/{file}", f"b/{file}")
        return "".join(
            line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
        )


@dataclass(frozen=True)
class Overlay:
    """An overlay on disk: ``after`` are the sha256 of its own files, ``record`` the proof as written."""

    path: Path
    after: Mapping[str, str]
    record: Mapping[str, Any]


def compose(
    source: Path, chosen: Iterable[Chosen], situation: Situation, known: Mapping[str, str] | None = None
) -> Composed:
    """Apply patches in memory. ``known`` are sha256 of the source's files that need no hashing anew.

    Raises patch.unfit, no_file, not_json.
    """
    edits: dict[str, bytes | Streamed] = {}
    steps = []
    for each in chosen:
        change = each.patch.edit(Tree(source, edits), each.options, situation)
        edits.update(change.files)
        step = Step(
            each.patch.name,
            change.note,
            tuple(sorted(change.files)),
            each.written,
            change.worker,
            change.account,
        )
        steps.append(step)
    known = known or {}
    before = {file: known.get(file) or file_sha256(source / file) for file in sorted(edits)}
    return Composed(source, tuple(steps), edits, before)


def write(composed: Composed, place: Path, copied: Iterable[str] = ()) -> Overlay:
    """Make the overlay at ``place``, or leave the one that is there if it is just that.

    ``copied`` names files that are copied though no patch changes them (code that will be run).
    """
    copied = sorted(set(copied) - set(composed.edits))
    with alone(place.parent):
        if ready := matching(composed, place, copied):
            return ready
        return _make(composed, place, copied)


def matching(composed: Composed, place: Path, copied: Iterable[str] = ()) -> Overlay | None:
    """The overlay at ``place`` if it is whole and just what :func:`write` would make, else none."""
    ready = current(place, deep=True)
    return ready if ready and ready.record["intent"] == intent(composed, copied) else None


def _make(composed: Composed, place: Path, copied: list[str]) -> Overlay:
    with building(place) as aside:
        for file in _files(composed.source):
            (aside / file).parent.mkdir(parents=True, exist_ok=True)
            if file in copied:
                shutil.copyfile(composed.source / file, aside / file)
            elif file not in composed.edits:
                (aside / file).symlink_to(composed.source.resolve() / file)
        for file, content in composed.edits.items():
            if isinstance(content, bytes):
                (aside / file).write_bytes(content)
            else:
                content.write(aside / file)
        after = {file: file_sha256(aside / file) for file in [*composed.edits, *copied]}
        record = {
            "format": FORMAT,
            "source": str(composed.source.resolve()),
            "intent": intent(composed, copied),
            "patches": [step_record(step) for step in composed.steps],
            "before": dict(composed.before),
            "after": after,
            "stat": {file: _stat(aside / file) for file in after},
        }
        write_json(aside / PROOF, record)
    return Overlay(place, after, record)


def current(place: Path, deep: bool = False) -> Overlay | None:
    """The overlay at ``place`` if its own files and its links are as they were written, else none.

    Files are compared by size and time of change; with ``deep`` they are hashed.
    """
    record = read_json(place / PROOF)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return None
    after = record["after"]
    for file, sha256 in after.items():
        if not (place / file).is_file() or _stat(place / file) != record["stat"][file]:
            return None
        if deep and file_sha256(place / file) != sha256:
            return None
    links = [path for path in place.rglob("*") if path.is_symlink()]
    return Overlay(place, after, record) if all(path.exists() for path in links) else None


def undo(place: Path) -> list[str]:
    """Remove the overlay; the files it had of its own. What lies behind its links is not touched."""
    record = read_json(place / PROOF)
    if not place.is_dir():
        return []
    if not isinstance(record, dict):
        raise NpukitError("patch.not-overlay", path=str(place))
    hidden = place.with_name(f".{place.name}.gone")
    place.rename(hidden)  # out of sight in one step
    shutil.rmtree(hidden)
    return sorted(record["after"])


def step_record(step: Step) -> dict[str, Any]:
    """A step as JSON."""
    return {
        "name": step.name,
        "acts": step.acts,
        "note": step.note,
        "files": list(step.files),
        "options": dict(step.options),
        "worker": list(step.worker),
        "account": dict(step.account),
    }


def intent(composed: Composed, copied: Iterable[str] = ()) -> str:
    """Names what an overlay is made of: the source's files by size, the edits, the copies by content."""
    digest = hashlib.sha256(str(composed.source.resolve()).encode())
    for file in _files(composed.source):
        digest.update(f"\0{file} {(composed.source / file).stat().st_size}".encode())
    for file, content in sorted(composed.edits.items()):
        new = content if isinstance(content, bytes) else "\n".join(content.describe()).encode()
        digest.update(f"\0{file} {composed.before[file]} ".encode() + new)
    for file in sorted(set(copied) - set(composed.edits)):
        digest.update(f"\0{file} {file_sha256(composed.source / file)}".encode())
    return digest.hexdigest()


def _stat(file: Path) -> list[int]:
    stat = file.stat()
    return [stat.st_size, stat.st_mtime_ns]


def _files(source: Path) -> list[str]:
    """Every file below ``source`` by its path, hidden ones (a hub's own bookkeeping) aside."""
    found = []
    for directory, inside, files in os.walk(source, followlinks=True):
        inside[:] = [name for name in inside if not name.startswith(".")]
        below = Path(directory).relative_to(source)
        found += [(below / name).as_posix() for name in files if not name.startswith(".")]
    return sorted(found)
