"""The proof that a sandbox is whole and still fits: `sandbox.json`, written last, and pip's RECORD files."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from npukit.errors import NpukitError
from npukit.sandbox.plan import Conflict, Package, Plan, conflicts, lacking
from npukit.sandbox.shared import Shared, at, declared, interpreter, unmet
from npukit.workspace import read_json, write_json

FORMAT = 1
PROOF = "sandbox.json"


@dataclass(frozen=True)
class Sandbox:
    """A directory of packages; ``records`` holds the sha256 of each package's RECORD, by its path."""

    path: Path
    requires: tuple[str, ...]
    packages: tuple[Package, ...]
    interpreter: str
    records: dict[str, str]

    def python_path(self, existing: str | None = None) -> str:
        """A PYTHONPATH with the sandbox first. Entries that stand there already (CANN's own) are kept."""
        return os.pathsep.join(filter(None, [str(self.path.resolve()), existing]))

    def versions(self) -> dict[str, str]:
        """What a worker finds here instead of, or beside, the shared packages."""
        return {each.name: each.version for each in self.packages}

    def conflicts(self, shared: Shared | None = None) -> tuple[Conflict, ...]:
        """Shared packages whose own pins it breaks for whoever sees it."""
        return tuple(conflicts(self.packages, (shared or Shared()).everything()))

    def faults(self, shared: Shared | None = None, deep: bool = False) -> list[str]:
        """Why it cannot be used, in words; empty when it can. ``deep`` hashes every file."""
        if self.interpreter != interpreter():
            return [f"built for {self.interpreter}, this is {interpreter()}"]
        if broken := self._broken(deep):
            return broken
        # The shared side may have moved since: what the sandbox takes from there must still be there.
        inside = at(self.path)
        beside = shared or Shared()
        own = [str(each) for package in inside.values() for each in declared(package)]
        return unmet([*self.requires, *own], lambda name: inside.get(name) or beside.get(name))

    def _broken(self, deep: bool) -> list[str]:
        faults = []
        for name, sha256 in self.records.items():
            record = self.path / name
            if not record.is_file() or _sha256(record) != sha256:
                return [f"{name} is missing or changed"]
            for file, digest, size in _rows(record):
                target = self.path / file
                if not target.is_file() or (size and target.stat().st_size != int(size)):
                    faults.append(f"{file} is missing or has another size")
                elif deep and digest and _record_digest(target) != digest:
                    faults.append(f"{file} has changed")
        return faults


def find(
    requires: Sequence[str], root: Path, shared: Shared | None = None, deep: bool = False
) -> Sandbox | None:
    """The sandbox under ``root`` that was built for ``requires``, is whole and fits; or none."""
    shared = shared or Shared()
    for box in sandboxes(root):
        if sorted(box.requires) == sorted(requires) and not box.faults(shared, deep):
            return box
    return None


def required(requires: Sequence[str], root: Path, shared: Shared | None = None) -> Sandbox | None:
    """The sandbox a worker needs, or none where what is installed serves. Raises sandbox.missing."""
    shared = shared or Shared()
    if not (reasons := lacking(requires, shared)):
        return None
    if box := find(requires, root, shared):
        return box
    raise NpukitError("sandbox.missing", requires=", ".join(requires), reasons="\n".join(reasons))


def sandboxes(root: Path) -> Iterator[Sandbox]:
    """Every finished sandbox under ``root``, whole or not. One whose proof cannot be read is none."""
    for proof in sorted(root.glob(f"[!.]*/{PROOF}")):
        if box := read(proof.parent):
            yield box


def read(directory: Path) -> Sandbox | None:
    """The sandbox in ``directory``, or none if its proof is missing, torn or of another format."""
    row = read_json(directory / PROOF)
    if not isinstance(row, dict) or row.get("format") != FORMAT:
        return None
    try:
        packages = tuple(Package(**each) for each in row["packages"])
        return Sandbox(directory, tuple(row["requires"]), packages, row["interpreter"], dict(row["records"]))
    except (KeyError, TypeError, ValueError):
        return None


def seal(directory: Path, plan: Plan, shared: Shared | None = None) -> Sandbox:
    """Check a freshly installed ``directory`` and write its proof. Raises sandbox.incomplete."""
    inside = at(directory)
    faults = [
        f"{each.name} {each.version} did not arrive"
        for each in plan.packages
        if each.name not in inside or inside[each.name].version != each.version
    ]
    records = {
        str(each.relative_to(directory)): _sha256(each)
        for each in sorted(directory.glob("*.dist-info/RECORD"))
    }
    box = Sandbox(directory, plan.requires, plan.packages, interpreter(), records)
    if faults := faults or box.faults(shared, deep=True):
        raise NpukitError("sandbox.incomplete", faults="\n".join(faults[:5]))
    row = {
        "format": FORMAT,
        "requires": plan.requires,
        "interpreter": box.interpreter,
        "packages": [asdict(each) for each in plan.packages],
        "records": records,
    }
    write_json(directory / PROOF, row)
    return box


def _rows(record: Path) -> Iterator[tuple[str, str, str]]:
    """Path, digest and size of each file that belongs to the import directory (scripts lie outside of it)."""
    with record.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            if len(row) == 3 and not row[0].startswith(("../", "/")) and not row[0].endswith(".pyc"):
                yield row[0], row[1], row[2]


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _record_digest(file: Path) -> str:
    """As RECORD writes it: urlsafe base64 without padding."""
    digest = hashlib.sha256(file.read_bytes()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
