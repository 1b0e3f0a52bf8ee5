"""Recorded outputs of fixed prompts, in one safetensors file that can travel between machines.

Tensors: ``<prompt id>.logits`` (positions, vocabulary) float32 and ``<prompt id>.tokens`` (new tokens,)
int64, the greedy answer. The header's metadata entry ``capture`` is JSON: on what and in which dtype.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from npukit.errors import NpukitError

FORMAT = 1


@dataclass(frozen=True)
class Recording:
    """What one prompt gave."""

    logits: torch.Tensor
    tokens: torch.Tensor


def write_capture(path: Path, recordings: dict[str, Recording], about: dict[str, Any]) -> None:
    """Write whole or not at all."""
    tensors = {}
    for prompt, recording in recordings.items():
        tensors[f"{prompt}.logits"] = recording.logits.contiguous()
        tensors[f"{prompt}.tokens"] = recording.tokens.contiguous()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        save_file(tensors, partial, metadata={"capture": json.dumps({"format": FORMAT, **about})})
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


class Capture:
    """A capture opened for reading, one prompt at a time in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = safe_open(path, framework="pt")
            self.about: dict[str, Any] = json.loads((self._file.metadata() or {})["capture"])
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise NpukitError("capture.unreadable", path=str(path), reason=str(error)) from error

    def recording(self, prompt: str) -> Recording:
        try:
            return Recording(
                self._file.get_tensor(f"{prompt}.logits"), self._file.get_tensor(f"{prompt}.tokens")
            )
        except SafetensorError as error:
            raise NpukitError("capture.no-prompt", path=str(self.path), prompt=prompt) from error
