"""Copies of a model that other tools left on this machine. They are read, linked to, and never written.

Layouts: huggingface_hub's ``models--owner--name/snapshots/<commit>``, where a blob is named by its hash;
modelscope-hub's ``models/owner--name/snapshots/<revision>`` and the older client's
``hub/[models/]owner/name`` (a dot in a name was written ``___``); and ``~/.cache/models/<name>``, where
published adaptations put them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from npukit.download.address import hash_as
from npukit.errors import NpukitError
from npukit.proof import FileProof
from npukit.sources.base import Copy, Listing, RemoteFile, Want, checked

WEIGHTS = (".safetensors", ".bin", ".gguf")


def find_copies(ids: dict[str, str], model: str, revision: str = "") -> Iterator[Copy]:
    """Directories that exist and may hold the model; ``ids`` gives the hubs' ids by the hubs' names."""
    if ids.get("huggingface"):
        yield from _huggingface(ids["huggingface"], revision)
    if ids.get("modelscope"):
        yield from _modelscope(ids["modelscope"])
    names = [model, *(repo.rpartition("/")[2] for repo in ids.values())]
    for name in dict.fromkeys(names):
        root = Path("~/.cache/models").expanduser() / name
        if name and root.is_dir():
            yield Copy(root)


def _huggingface(repo: str, revision: str) -> Iterator[Copy]:
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{cache}/huggingface"
    hub = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or f"{home}/hub"
    folder = Path(hub).expanduser() / f"models--{repo.replace('/', '--')}"
    try:
        commit = (folder / "refs" / (revision or "main")).read_text(encoding="utf-8").strip()
    except OSError:
        commit = ""
    # What the branch or tag meant when it was last asked for comes first.
    for root in sorted(_newest_first(folder / "snapshots"), key=lambda root: root.name != commit):
        yield Copy(root, revision if revision and root.name == commit else root.name)


def _modelscope(repo: str) -> Iterator[Copy]:
    cache = Path(os.environ.get("MODELSCOPE_CACHE") or "~/.cache/modelscope").expanduser()
    for root in _newest_first(cache / "models" / repo.replace("/", "--") / "snapshots"):
        yield Copy(root, root.name)
    for above in ("hub/models", "hub", "models", "."):
        for name in dict.fromkeys((repo, repo.replace(".", "___"))):
            if (cache / above / name).is_dir():
                yield Copy(cache / above / name)


def _newest_first(folder: Path) -> list[Path]:
    try:
        found = [path for path in folder.iterdir() if path.is_dir()]
        return sorted(found, key=lambda path: -path.stat().st_mtime)
    except OSError:
        return []


def copies_listing(want: Want) -> Listing:
    """The first copy that has a config and weights, listed without a hub.

    Raises NpukitError ``fetch.offline`` when there is none.
    """
    for copy in want.copies:
        if want.revision and copy.revision != want.revision:
            continue
        rows = tuple(_row(copy.root, path) for path in sorted(copy.root.rglob("*")) if path.is_file())
        rows = tuple(row for row in rows if not any(part.startswith(".") for part in row.path.split("/")))
        has_weights = any(row.path.endswith(WEIGHTS) for row in rows)
        if has_weights and any(row.path == "config.json" for row in rows):
            files = checked("cache", want, copy.revision, rows).files
            return Listing("cache", str(copy.root), copy.revision, files)
    raise NpukitError("fetch.offline", model=want.model)


def _row(root: Path, path: Path) -> RemoteFile:
    blob = path.resolve().name if path.is_symlink() else ""
    sha256, git_sha1 = (blob if len(blob) == length else "" for length in (64, 40))
    return RemoteFile(path.relative_to(root).as_posix(), path.stat().st_size, sha256, git_sha1)


def link_copy(file: RemoteFile, target: Path, copies: Iterable[Copy]) -> FileProof | None:
    """Link ``target`` to a copy whose content is what the source states; None when no copy is."""
    for copy in copies:
        path = (copy.root / file.path).resolve()
        sha256 = hash_as(path, file.expected)
        if sha256:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.symlink_to(path)
            origin = f"cache:{copy.root}"
            return FileProof(file.path, file.size, sha256, origin, file.stated, path.stat().st_mtime_ns)
    return None
