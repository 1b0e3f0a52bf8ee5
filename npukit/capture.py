"""Recorded outputs of fixed prompts, in one safetensors file that can travel between machines.

Tensors, per prompt: ``<id>.logits`` (positions, vocabulary) float32 or float64, ``<id>.input_ids``
(positions,) int64, ``<id>.tokens`` (new tokens,) int64, the greedy answer, and ``<id>.answer_logits``
(new tokens, vocabulary), what each of them was chosen from. The header's metadata entry ``capture`` is JSON:
which weights and prompts, on what, in which dtype.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from npukit.errors import NpukitError

FORMAT = 2


@dataclass(frozen=True)
class Recording:
    """What one prompt gave."""

    logits: torch.Tensor
    input_ids: torch.Tensor
    tokens: torch.Tensor
    answer_logits: torch.Tensor


def write_capture(path: Path, recordings: Mapping[str, Recording], about: Mapping[str, Any]) -> None:
    """Write whole or not at all."""
    tensors = {
        f"{prompt}.{name}": tensor.contiguous()
        for prompt, recording in recordings.items()
        for name, tensor in vars(recording).items()
    }
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
        if self.about.get("format") != FORMAT:
            reason = f"format {self.about.get('format')}, this npukit reads {FORMAT}"
            raise NpukitError("capture.unreadable", path=str(path), reason=reason)

    def recording(self, prompt: str) -> Recording:
        try:
            return Recording(
                **{name: self._file.get_tensor(f"{prompt}.{name}") for name in Recording.__dataclass_fields__}
            )
        except SafetensorError as error:
            raise NpukitError("capture.no-prompt", path=str(self.path), prompt=prompt) from error

    def must_match(self, identity: Mapping[str, Any]) -> None:
        """Raise NpukitError ``capture.other`` unless weights, prompts and generation are those of
        ``identity``."""
        recorded = self.about.get("identity", {})
        apart = sorted(name for name, value in identity.items() if recorded.get(name) != value)
        if apart:
            raise NpukitError("capture.other", path=str(self.path), names=", ".join(apart))
