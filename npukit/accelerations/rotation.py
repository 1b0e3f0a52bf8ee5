"""Rotary positions as one product per layer: the rotation of a position, as a matrix."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from npukit.accelerations import Refused

CHUNK = 32  # positions whose matrices are made at once
CHANGING = ("dynamic", "longrope")  # frequencies that depend on the length of what was seen


class Rotation:
    """``x @ rotation.at(position)`` turns heads x (heads, head_dim) as transformers' apply_rotary_pos_emb.

    The tables come from the model's own module, so its scaling holds. A dimension beyond the rotary ones
    passes. Built once per ``CHUNK`` positions instead of per token and layer.
    """

    def __init__(self, module: Any, head_dim: int, dtype: torch.dtype, device: torch.device) -> None:
        kind = getattr(module, "rope_type", "default")
        if kind in CHANGING:
            raise Refused(f"its rotary positions change with the length ({kind})")
        if list(inspect.signature(module.forward).parameters) != ["x", "position_ids"]:
            raise Refused(f"{type(module).__name__} takes other arguments than x and position_ids")
        self._module, self._head_dim = module, head_dim
        self._like = torch.empty(0, dtype=dtype, device=device)
        self._first, self._matrices = 0, torch.empty(0)

    def begin(self) -> None:
        self._matrices = torch.empty(0)

    def at(self, position: int) -> torch.Tensor:
        """(head_dim, head_dim)"""
        index = position - self._first
        if not 0 <= index < len(self._matrices):
            self._first, index = position, 0
            self._matrices = self._build(position)
        return self._matrices[index]

    def _build(self, first: int) -> torch.Tensor:
        positions = torch.arange(first, first + CHUNK, device=self._like.device)[None]
        cos, sin = (table.reshape(CHUNK, -1) for table in self._module(self._like, positions))
        size, rotary = self._head_dim, cos.shape[-1]
        half = rotary // 2
        matrices = torch.eye(size, dtype=cos.dtype, device=cos.device).repeat(CHUNK, 1, 1)
        matrices[:, :rotary, :rotary] *= cos[:, None]
        low = torch.arange(half, device=cos.device)
        # out[j] = x[j] cos[j] - x[j + half] sin[j], and out[j + half] = x[j + half] cos + x[j] sin
        matrices[:, low + half, low] = -sin[:, :half]
        matrices[:, low, low + half] = sin[:, half:]
        return matrices
