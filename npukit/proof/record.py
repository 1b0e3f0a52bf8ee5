"""The proof of a model's files: what is there, by content, and where each file came from.

Saved whole or not at all as ``$NPUKIT_HOME/models/<model>/proof.json`` (format 1)::

    {"format": 1, "model": "...", "root": "/...", "revision": "...", "made": "...", "tensors": 130,
     "parameters": 1020256, "dtypes": {"F16": 130}, "deep": false, "digest": "...",
     "asked": {"revision": "main", ...},
     "files": [{"path": "config.json", "size": 812, "sha256": "...", "source": "builtin", "stated": "",
                "mtime_ns": 1}], "faults": [{"kind": "header", "path": "...", "detail": "..."}]}
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from npukit.fingerprint import digest, file_sha256
from npukit.proof.checkpoint import Fault, inspect
from npukit.workspace import read_json, write_json

FORMAT = 1
Progress = Callable[[str], None]


@dataclass(frozen=True)
class FileProof:
    """One file by content. ``source`` says where it came from; ``stated`` which hash of the source it agreed
    with (``sha256``, ``git-sha1``), empty when the source states none and ours is only recorded."""

    path: str
    size: int
    sha256: str
    source: str
    stated: str = ""
    mtime_ns: int = 0


@dataclass(frozen=True)
class Proof:
    """All files of a model below ``root``. Whole when it has no faults."""

    model: str
    root: Path
    files: tuple[FileProof, ...]
    revision: str = ""
    tensors: int = 0
    parameters: int = 0
    dtypes: dict[str, int] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    deep: bool = False
    made: str = ""
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return not self.faults

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def digest(self) -> str:
        """Names the content, wherever it lies and wherever it came from."""
        return digest(sorted((file.path, file.sha256) for file in self.files))

    @property
    def sources(self) -> list[str]:
        return sorted({file.source for file in self.files})

    def path(self, name: str) -> Path:
        return self.root / name

    def file(self, name: str) -> FileProof | None:
        return next((file for file in self.files if file.path == name), None)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "format": FORMAT, "root": str(self.root), "digest": self.digest}

    @classmethod
    def from_json(cls, document: Any) -> Proof:
        """Raises ValueError when ``document`` is not a proof of this format."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError("not a proof of this format")
        try:
            values = {name: document[name] for name in cls.__dataclass_fields__}
            values["root"] = Path(values["root"])
            values["files"] = tuple(FileProof(**row) for row in values["files"])
            values["faults"] = tuple(Fault(**row) for row in values["faults"])
            proof = cls(**values)
            if proof.digest != document["digest"]:
                raise ValueError("the proof's own digest disagrees")
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a proof: {error}") from error
        return proof


def proof_path(model_dir: Path) -> Path:
    return model_dir / "proof.json"


def save(proof: Proof, model_dir: Path) -> Path:
    """Write the proof atomically."""
    path = proof_path(model_dir)
    write_json(path, proof.to_json())
    return path


def load(model_dir: Path) -> Proof | None:
    """The proof kept there; None when absent, torn or of another format."""
    try:
        return Proof.from_json(read_json(proof_path(model_dir)))
    except ValueError:
        return None


def prove(
    model: str,
    root: Path,
    files: Iterable[FileProof],
    *,
    revision: str = "",
    extra: Iterable[Fault] = (),
    deep: bool = False,
    progress: Progress = lambda text: None,
) -> Proof:
    """A proof over files that were hashed already; ``deep`` reads every tensor once more."""
    files = tuple(sorted(files, key=lambda file: file.path))
    contents = inspect(root, [file.path for file in files])
    faults = [*extra, *(f for f in contents.faults if f not in extra)]
    if deep:
        from npukit.proof.values import scan

        faults.extend(scan(root, files, progress))
    return Proof(
        model=model,
        root=root,
        files=files,
        revision=revision,
        tensors=contents.tensors,
        parameters=contents.parameters,
        dtypes=contents.dtypes,
        faults=tuple(faults),
        deep=deep,
        made=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
    )


def hash_file(root: Path, path: str, source: str, stated: str = "") -> FileProof:
    """Hash one file in place. Raises OSError."""
    file = root / path
    before = file.stat()
    return FileProof(path, before.st_size, file_sha256(file), source, stated, before.st_mtime_ns)


def untouched(proof: Proof) -> bool:
    """Whether every file still has the size and time of change it had when proven; nothing is read."""
    for file in proof.files:
        try:
            now = proof.path(file.path).stat()
        except OSError:
            return False
        if (now.st_size, now.st_mtime_ns) != (file.size, file.mtime_ns):
            return False
    return True


def recheck(proof: Proof, *, deep: bool = False, progress: Progress = lambda text: None) -> Proof:
    """Hash everything again and inspect it again; what changed since is a fault of the new proof.

    Recorded sizes and hashes stay as they were proven, so that a later recheck or a repair knows them.
    """
    faults: list[Fault] = []
    kept: list[FileProof] = []
    for file in proof.files:
        progress(f"{file.path} ({file.size:,} bytes)")
        fault, now = _compare(proof.root, file)
        if fault is not None:
            faults.append(fault)
        kept.append(now)
    again = prove(
        proof.model, proof.root, kept, revision=proof.revision, extra=faults, deep=deep, progress=progress
    )
    return replace(again, asked=proof.asked)


def _compare(root: Path, file: FileProof) -> tuple[Fault | None, FileProof]:
    try:
        size = (root / file.path).stat().st_size
        if size != file.size:
            return Fault("size", file.path, f"{size} bytes; {file.size} were proven"), file
        now = hash_file(root, file.path, file.source, file.stated)
    except OSError as error:
        return Fault("missing", file.path, error.strerror or str(error)), file
    if now.sha256 != file.sha256:
        return Fault("sha256", file.path, f"sha256 {now.sha256[:16]}; {file.sha256[:16]} was proven"), file
    return None, replace(file, mtime_ns=now.mtime_ns)
