"""A safetensors file under other tensor names: a new header, then the same data, never held in memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COPY_BYTES = 16 << 20


@dataclass(frozen=True)
class RenamedWeights:
    """``names`` maps old to new; the file at ``source`` was found whole by npukit.proof.headers."""

    source: Path
    names: Mapping[str, str]

    def write(self, path: Path) -> None:
        with self.source.open("rb") as before, path.open("wb") as after:
            length = int.from_bytes(before.read(8), "little")
            header = self._renamed(json.loads(before.read(length)))
            after.write(len(header).to_bytes(8, "little") + header)
            shutil.copyfileobj(before, after, COPY_BYTES)

    def describe(self) -> list[str]:
        """Each tensor by its new name, type and shape, in the order of the header."""
        with self.source.open("rb") as stream:
            rows = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        return [
            f"{self.names.get(name, name)}  {row['dtype']}{row['shape']}"
            for name, row in rows.items()
            if name != "__metadata__"
        ]

    def _renamed(self, rows: dict[str, Any]) -> bytes:
        renamed = {self.names.get(name, name): row for name, row in rows.items()}
        text = json.dumps(renamed, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
        return text + b" " * (-len(text) % 8)  # data stays aligned to eight bytes, as the format advises
