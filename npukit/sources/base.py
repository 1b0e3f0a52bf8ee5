"""What every source of a model's files can do: list them first, then bring them.

A listing comes before the first byte, with sizes and the hashes the source states, so that a plan can be
shown, copies that lie elsewhere can be recognised, and what arrives can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Protocol

from npukit.errors import NpukitError
from npukit.proof import FileProof

Progress = Callable[[str], None]

# Weights in another format than the safetensors beside them, and what no loader reads.
DUPLICATES = (
    "*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.ot", "*.onnx", "*.onnx_data", "*.gguf",
    "*.tflite", "*.mlmodel",
)  # fmt: skip
UNREAD = (".git*", ".cache/*", "*.lock", "*.part", ".mdl", ".msc", ".mv")


@dataclass(frozen=True)
class RemoteFile:
    """One file of a listing; ``size`` in bytes, hashes in hex, empty when the source states none."""

    path: str
    size: int
    sha256: str = ""
    git_sha1: str = ""


@dataclass(frozen=True)
class Listing:
    """What a source has: ``revision`` is the commit when the source knows one, else the name asked for."""

    source: str
    repo: str
    revision: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def origin(self) -> str:
        """Where from, in one word for the proof: ``huggingface:owner/name@commit``."""
        at = f"@{self.revision}" if self.revision else ""
        return f"{self.source}:{self.repo}{at}"


@dataclass(frozen=True)
class Want:
    """What is asked of a source. ``repo`` is the source's own id of the model."""

    model: str
    repo: str
    revision: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    offline: bool = False
    token: str = field(default="", repr=False)


@dataclass(frozen=True)
class Brought:
    """Files that are there now, hashed, below ``root``."""

    root: Path
    files: tuple[FileProof, ...]


class Source(Protocol):
    """One place that models come from. ``npukit/sources/<name>.py`` holds it as a class ``Source``."""

    name: str

    def listing(self, want: Want) -> Listing:
        """What there is. Raises NpukitError ``fetch.*`` when the source does not answer or lacks it."""

    def bring(self, listing: Listing, directory: Path, progress: Progress) -> Brought:
        """Have the files: in ``directory``, or in place. Raises NpukitError ``fetch.*``."""


def safe_path(path: str, source: str) -> str:
    """``path`` when it stays below the directory it is put in. Raises NpukitError ``fetch.unsafe-path``."""
    parts = PurePosixPath(path).parts
    bad = (
        not path
        or path != "/".join(parts)
        or path.startswith("/")
        or any(part == ".." or part == ".git" for part in parts)
        or any(ord(c) < 32 or c in "\\:" for c in path)
    )
    if bad:
        raise NpukitError("fetch.unsafe-path", source=source, path=repr(path))
    return path


def chosen(
    files: tuple[RemoteFile, ...], include: tuple[str, ...], exclude: tuple[str, ...]
) -> tuple[RemoteFile, ...]:
    """The files meant by shell patterns (``*`` crosses ``/``). Without ``include``: all a loader reads, that
    is without weights in other formats when there are safetensors."""

    def matches(path: str, patterns: tuple[str, ...]) -> bool:
        return any(fnmatchcase(path, p) or path.startswith(p.rstrip("/") + "/") for p in patterns)

    unwanted = exclude
    if not include:
        safe = any(file.path.endswith(".safetensors") for file in files)
        unwanted += UNREAD + (DUPLICATES if safe else ())
    kept = [f for f in files if (not include or matches(f.path, include)) and not matches(f.path, unwanted)]
    return tuple(sorted(kept, key=lambda file: file.path))
