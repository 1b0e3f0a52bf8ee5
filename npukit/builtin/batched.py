"""Faster forms of three library functions for many tiny pictures and short texts; the arithmetic is the same.

The library walks over windows and pictures one by one, here those of equal size go through in one
call; and it fills every text up to a multiple of 64 positions, here to little more than its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.minicpmv4_6 import modeling_minicpmv4_6 as modeling
from transformers.models.qwen3_5 import modeling_qwen3_5 as text_modeling

LONGEST_CHUNK = 40


def _attention(self: Any, hidden_states: Tensor, cu_seqlens: Tensor, **_: Any) -> tuple[Tensor, None]:
    """``hidden_states``: (1, tokens, channels); ``cu_seqlens``: where segments begin, and the end."""
    hidden = hidden_states[0]
    starts, lengths = cu_seqlens[:-1], cu_seqlens.diff()
    out = torch.empty_like(hidden)
    for length in lengths.unique().tolist():
        rows = (starts[lengths == length, None] + torch.arange(length)).flatten()
        segments = hidden[rows].view(-1, length, hidden.shape[-1])
        query, key, value = (
            project(segments).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        seen = nn.functional.scaled_dot_product_attention(query, key, value, scale=self.scaling)
        out = out.index_put((rows,), seen.transpose(1, 2).reshape(len(rows), -1))
    return self.out_proj(out)[None], None


def _merger(self: Any, hidden_states: Tensor, target_sizes: Tensor) -> list[Tensor]:
    """One 2x2 merge of each picture's grid: (1, tokens, channels) to (tokens / 4, text channels) each."""
    if self.merger_times != 1:
        raise ValueError("written for one round of merging")
    step_h, step_w = self.merge_kernel_size
    channels = hidden_states.shape[-1]
    sizes = [tuple(size) for size in target_sizes.tolist()]
    pieces = hidden_states[0].split([h * w for h, w in sizes])
    merged: list[Tensor] = [hidden_states] * len(sizes)
    for height, width in set(sizes):
        members = [i for i, size in enumerate(sizes) if size == (height, width)]
        grid = torch.stack([pieces[i] for i in members])
        grid = grid.view(len(members), height // step_h, step_h, width // step_w, step_w, channels)
        grid = grid.transpose(2, 3).reshape(len(members), -1, step_h * step_w * channels)
        for i, features in zip(members, self.mlp[0](grid).view(*grid.shape[:2], -1), strict=True):
            merged[i] = features
    return merged


@contextmanager
def batched() -> Iterator[None]:
    """Use the faster forms inside the block; a model must be built inside it too."""
    delta_rule = text_modeling.torch_chunk_gated_delta_rule

    def short_chunks(query: Tensor, *args: Any, **kwargs: Any) -> Any:
        length = query.shape[1]
        chunks = -(-length // LONGEST_CHUNK)
        return delta_rule(query, *args, **kwargs | {"chunk_size": -(-length // chunks)})

    faster: list[tuple[Any, str, Any]] = [
        (modeling.MiniCPMV4_6VisionAttention, "forward", _attention),
        (modeling.MiniCPMV4_6Merger, "forward", _merger),
        (text_modeling, "torch_chunk_gated_delta_rule", short_chunks),
    ]
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in faster]
    try:
        for owner, name, form in faster:
            setattr(owner, name, form)
        yield
    finally:
        for owner, name, form in kept:
            setattr(owner, name, form)
