"""What every source of a model's files can do: list them first, then bring them.

A listing comes before the first byte, with sizes and the hashes the source states, so that a plan can be
shown, copies that lie elsewhere can be recognised, and what arrives can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from npukit.download.address import Address, Expected
from npukit.errors import NpukitError
from npukit.proof import FileProof, Proof

if TYPE_CHECKING:
    from npukit.download.transfer import Transfer

CONSOLIDATED = "consolidated*.safetensors"
# Weights in another format than the safetensors beside them, and what no loader reads.
DUPLICATES = (
    "*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.ot", "*.onnx", "*.onnx_data", "*.gguf",
    "*.tflite", "*.mlmodel", CONSOLIDATED,
)  # fmt: skip
UNREAD = (".git*", ".cache/*", "*.lock", "*.part", ".mdl", ".msc", ".mv")


@dataclass(frozen=True)
class RemoteFile:
    """One file of a listing; ``size`` in bytes, hashes in hex, empty when the source states none."""

    path: str
    size: int
    sha256: str = ""
    git_sha1: str = ""

    @property
    def stated(self) -> str:
        """Which hash the source states."""
        return "sha256" if self.sha256 else "git-sha1" if self.git_sha1 else ""

    @property
    def expected(self) -> Expected:
        return Expected(self.path, self.size, self.sha256, self.git_sha1)


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
class Copy:
    """A directory that may hold the model's files under their own names."""

    root: Path
    revision: str = ""


@dataclass(frozen=True)
class Want:
    """What is asked of a source. ``repo`` is the source's own id of the model, ``details`` what else the
    recipe says of it, ``scratch`` a directory that is removed when the fetch ends, ``copies`` directories
    of other tools that may hold the files."""

    model: str
    repo: str
    scratch: Path
    revision: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    copies: tuple[Copy, ...] = ()
    token: str = field(default="", repr=False)


@dataclass(frozen=True)
class Job:
    """What bringing files is given: what was asked, where to, how, and what was proven there before."""

    want: Want
    directory: Path
    transfer: Transfer
    kept: Proof | None = None

    def say(self, text: str) -> None:
        self.transfer.say(text)


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

    def address(self, listing: Listing, path: str) -> Address | None:
        """Where a file can be downloaded; None from a source that downloads nothing by itself."""

    def bring(self, listing: Listing, job: Job) -> Brought:
        """Have the files: in ``job.directory``, or in place. Raises NpukitError ``fetch.*``."""


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
        safe = any(f.path.endswith(".safetensors") and not fnmatchcase(f.path, CONSOLIDATED) for f in files)
        unwanted += UNREAD + (DUPLICATES if safe else ())
    kept = [f for f in files if (not include or matches(f.path, include)) and not matches(f.path, unwanted)]
    return tuple(sorted(kept, key=lambda file: file.path))


def checked(name: str, want: Want, revision: str, files: tuple[RemoteFile, ...]) -> Listing:
    """A listing with safe names and only the files meant. Raises NpukitError."""
    for file in files:
        safe_path(file.path, name)
    kept = chosen(files, want.include, want.exclude)
    if not kept:
        raise NpukitError("fetch.nothing", source=name, repo=want.repo)
    return Listing(name, want.repo, revision, kept)
