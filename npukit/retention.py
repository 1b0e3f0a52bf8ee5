"""What lies on disk below a workspace, which results have been superseded, and which captures none reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npukit.stages.accuracy import capture_keys
from npukit.workspace import Workspace


@dataclass(frozen=True)
class Spent:
    """A file that nothing needs, and why."""

    path: Path
    bytes: int
    why: str


def size_bytes(path: Path) -> int:
    """Of a file or everything below a directory, links not followed; 0 where nothing is."""
    if path.is_symlink() or not path.exists():
        return 0
    if path.is_file():
        return path.stat().st_size
    return sum(size_bytes(entry) for entry in path.iterdir())


def sizes(workspace: Workspace) -> dict[str, int]:
    """Bytes by what they are for: ``models/NAME``, and the other directories as a whole."""
    root = workspace.root
    places = sorted(path for path in root.glob("*") if path.is_dir() and path.name != "models")
    models = sorted(path for path in (root / "models").glob("*") if path.is_dir())
    return {str(path.relative_to(root)): size_bytes(path) for path in [*models, *places]}


def superseded(workspace: Workspace, model: str = "") -> list[Spent]:
    """Results that a newer one of the same model, device and stage stands in for, and files no npukit reads.

    The newest readable result of every stage stays, current or not.
    """
    results = workspace.results(model)
    newest = {(result.model, result.device, result.stage): path for result, path in results}
    readable = {path for _, path in results}
    spent = [
        Spent(path, path.stat().st_size, f"superseded on {result.device}: {result.stage}")
        for result, path in results
        if newest[result.model, result.device, result.stage] != path
    ]
    below = workspace.root / "results" / model if model else workspace.root / "results"
    strangers = [path for path in sorted(below.rglob("*")) if path.is_file() and path not in readable]
    return spent + [Spent(path, path.stat().st_size, "no result of this format") for path in strangers]


def unused(workspace: Workspace, model: str = "") -> list[Spent]:
    """Captures that the newest accuracy result of no model and device was measured with."""
    newest = {(result.model, result.device): result for result, _ in workspace.results(stage="accuracy")}
    used = {(one.model, key) for one in newest.values() for key in capture_keys(one.inputs)}
    spent = []
    for path in sorted(workspace.captures.glob("*.safetensors")):
        owner, _, key = path.stem.rpartition("-")
        if model in ("", owner) and (owner, key) not in used:
            spent.append(Spent(path, path.stat().st_size, "no current accuracy result reads it"))
    return spent


def prune(spent: list[Spent]) -> None:
    """Remove the files and the directories that this leaves empty."""
    for one in spent:
        one.path.unlink(missing_ok=True)
        for parent in one.path.parents:
            if parent.name in ("results", "captures") or any(parent.iterdir()):
                break
            parent.rmdir()
