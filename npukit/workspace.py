"""Everything npukit writes: results, proofs, captures, locks, logs and the last model, under one directory.

    $NPUKIT_HOME/                        (default: npukit in the user's cache directory)
      models/<model>/                    weights that no other cache has, proof, patched overlay
      sandboxes/  captures/  locks/  logs/  emulator/
      results/<model>/<device>/<stage>/<key>.json
      state.json                         the model fetched last

A file is written aside and moved into place, so that no half file is ever taken for a whole one.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npukit.errors import NpukitError
from npukit.results import StageResult


def home() -> Path:
    """The directory npukit writes to."""
    own = os.environ.get("NPUKIT_HOME")
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(own or Path(cache) / "npukit").expanduser().absolute()


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. Raises NpukitError ``workspace.*`` when the disk will not."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as stream:  # with the rights that the user's umask gives
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except OSError as error:
        raise NpukitError(
            "workspace.unwritable", path=str(path), reason=error.strerror or str(error)
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document whole or not at all."""
    write_atomic(path, (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any | None:
    """The document, or None when the file is absent, torn or not JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


@dataclass(frozen=True)
class Workspace:
    """Paths and records below one root."""

    root: Path

    @classmethod
    def open(cls) -> Workspace:
        return cls(home())

    def model_dir(self, model: str) -> Path:
        return self.root / "models" / model

    def assets(self, model: str) -> Path:
        return self.model_dir(model) / "assets"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def captures(self) -> Path:
        return self.root / "captures"

    # --- results

    def result_path(self, model: str, device: str, stage: str, key: str) -> Path:
        return self.root / "results" / model / device.replace(":", "-") / stage / f"{key}.json"

    def save(self, result: StageResult) -> Path:
        path = self.result_path(result.model, result.device, result.stage, result.key)
        write_json(path, result.to_json())
        return path

    def load(self, path: Path) -> StageResult | None:
        """The record at ``path``, or None when it is absent, torn, or of another format."""
        try:
            return StageResult.from_json(read_json(path))
        except ValueError:
            return None

    def find(self, model: str, device: str, stage: str, key: str) -> tuple[StageResult, Path] | None:
        path = self.result_path(model, device, stage, key)
        result = self.load(path)
        return (result, path) if result is not None and result.key == key else None

    def results(self, model: str = "", device: str = "", stage: str = "") -> list[tuple[StageResult, Path]]:
        """Every readable record that matches, oldest first; an empty word matches all."""
        parts = [glob.escape(part.replace(":", "-")) or "*" for part in (model, device, stage)]
        paths = self.root.glob("/".join(["results", *parts, "*.json"]))
        found = [(result, path) for path in paths if (result := self.load(path)) is not None]
        return sorted(found, key=lambda pair: pair[0].started)

    def latest(self, model: str, device: str, stage: str) -> tuple[StageResult, Path] | None:
        """The newest record, whatever its key."""
        found = self.results(model, device, stage)
        return found[-1] if found else None

    # --- state

    def last_model(self) -> str:
        state = read_json(self.root / "state.json")
        model = state.get("model") if isinstance(state, dict) else None
        return model if isinstance(model, str) else ""

    def remember(self, model: str) -> None:
        if self.last_model() != model:
            write_json(self.root / "state.json", {"model": model})


@contextlib.contextmanager
def building(path: Path) -> Iterator[Path]:
    """A directory to fill that becomes ``path`` when the block ends well, and vanishes when it does not."""
    import shutil

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield partial
        if path.exists():
            shutil.rmtree(path)
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
