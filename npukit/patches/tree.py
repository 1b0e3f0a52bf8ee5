"""A model directory as the patches see it: the files on disk, under the edits made so far."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukit.errors import NpukitError

if TYPE_CHECKING:
    from npukit.patches.base import Streamed


@dataclass(frozen=True)
class Tree:
    """``root`` is never written to; ``edits`` holds the new content of changed files."""

    root: Path
    edits: Mapping[str, bytes | Streamed]

    def has(self, file: str) -> bool:
        return file in self.edits or (self.root / file).is_file()

    def read(self, file: str) -> bytes:
        """Raises patch.no-file."""
        edited = self.edits.get(file)
        if isinstance(edited, bytes):
            return edited
        try:
            return (self.root / file).read_bytes()
        except OSError as error:
            raise NpukitError("patch.no-file", file=file, directory=str(self.root)) from error

    def document(self, file: str) -> dict[str, Any]:
        """A JSON file that holds an object. Raises patch.no-file, patch.not-json."""
        try:
            document = json.loads(self.read(file))
        except ValueError as error:
            raise NpukitError(
                "patch.not-json", file=file, directory=str(self.root), reason=str(error)
            ) from error
        if not isinstance(document, dict):
            raise NpukitError(
                "patch.not-json", file=file, directory=str(self.root), reason="it is no JSON object"
            )
        return document

    def rewritten(self, file: str, document: Mapping[str, Any]) -> bytes:
        """``document`` laid out as ``file`` is, so that a diff shows only what was meant."""
        text = self.read(file).decode("utf-8")
        indent = re.search(r"\{\r?\n([ \t]+)", text)
        written = json.dumps(document, indent=indent.group(1) if indent else None, ensure_ascii=r"\u" in text)
        return (written + ("\n" if text.endswith("\n") else "")).encode("utf-8")


def sections(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """A configuration and those inside it (``text_config``, ``vision_config``), with their dotted prefix."""
    found = [("", document)]
    for key, value in document.items():
        if key.endswith("_config") and isinstance(value, dict):
            found += [(f"{key}.{prefix}", inner) for prefix, inner in sections(value)]
    return found
