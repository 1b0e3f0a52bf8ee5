"""The recurrence of the gated delta rule for one token, in float32 and torch's own operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

L2_EPS = 1e-6  # of transformers' l2norm


@dataclass(frozen=True)
class Heads:
    """Numbers of heads and their sizes."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int

    @property
    def keys(self) -> int:
        return self.key_heads * self.key_dim

    @property
    def values(self) -> int:
        return self.value_heads * self.value_dim


def unit_norm(heads: Heads, norm: Callable[..., Any], like: torch.Tensor) -> Callable[..., Any]:
    """transformers' l2norm of queries and keys, as the RMS norm that it is."""
    weight = torch.full((heads.key_dim,), heads.key_dim**-0.5, dtype=like.dtype, device=like.device)
    made: Callable[..., Any] = norm(weight, L2_EPS / heads.key_dim)
    return made


class DeltaRule:
    """``begin`` with a state, then call with one row after the other.

    A row is what a layer's convolution gives, float32: queries, keys, values, z, b, and -a. The decay
    exp(-exp(A_log) softplus(a)) is sigmoid(-a) ** exp(A_log), which shares its sigmoid with beta.
    """

    dtype = torch.float32  # of what it gives

    def __init__(self, heads: Heads, log_decay: torch.Tensor, norm: Callable[..., Any]) -> None:
        """``log_decay`` is A_log, (value_heads)."""
        self._heads = heads
        self._power = log_decay.detach().float().exp().view(-1, 1, 1)
        self._unit = unit_norm(heads, norm, self._power)
        self._state = torch.empty(0)

    def begin(self, state: torch.Tensor) -> None:
        """``state``: (value_heads, key_dim, value_dim)"""
        self._state = state.float().clone()

    def __call__(self, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What is read from the state, and SiLU of z: (value_heads, 1, value_dim) each."""
        heads = self._heads
        gates = 2 * heads.value_heads
        active = F.silu(row[:-gates])
        beta, decay = torch.sigmoid(row[-gates:]).view(2, heads.value_heads, 1, 1).unbind()
        both = self._unit(active[: 2 * heads.keys].view(2, heads.key_heads, 1, heads.key_dim))
        if heads.value_heads != heads.key_heads:
            both = both.repeat_interleave(heads.value_heads // heads.key_heads, 1)
        query, key = both.unbind()
        value, z = active[2 * heads.keys :].view(2, heads.value_heads, 1, heads.value_dim).unbind()
        state = self._state.mul_(decay.pow(self._power))
        error = torch.baddbmm(value, key, state, alpha=-1)
        state.baddbmm_((key * beta).transpose(1, 2), error)
        return torch.baddbmm(error, query, state, beta=0, alpha=heads.key_dim**-0.5), z
