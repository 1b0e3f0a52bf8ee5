"""The small operators of a decoded token, as torch has them; a device's own fused ones stand in for these."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from npukit.accelerations.delta_rule import DeltaRule, Heads

Norm = Callable[[torch.Tensor], torch.Tensor]


class Operators:
    """torch's own, on any device."""

    def norm(self, weight: torch.Tensor, eps: float, *, zero_centred: bool = False) -> Norm:
        """``x / rms(x) * weight`` over the last dimension (``1 + weight``): in float32, rounded once."""
        # 1 + weight would lose its digits in half precision
        scale = 1 + weight.float() if zero_centred else weight
        shape = tuple(weight.shape)

        def norm(x: torch.Tensor) -> torch.Tensor:
            if x.dtype == scale.dtype:
                return F.rms_norm(x, shape, scale, eps)
            return F.rms_norm(x.to(scale.dtype), shape, scale, eps).to(x.dtype)

        return norm

    def gated(self, both: torch.Tensor) -> torch.Tensor:
        """SiLU of the first half of the last dimension times the second half."""
        gate, up = both.chunk(2, dim=-1)
        return F.silu(gate).mul_(up)

    def delta_rule(self, heads: Heads, log_decay: torch.Tensor, dtype: torch.dtype) -> DeltaRule:
        """The recurrence of gated delta layers of a model in ``dtype``."""
        return DeltaRule(heads, log_decay, self.norm)
