"""The gated feed-forward of one token: gate and up are one product."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from npukit.accelerations import Refused
from npukit.accelerations.operators import Operators
from npukit.accelerations.products import merge, plain

PARTS = {"gate_proj", "up_proj", "down_proj"}


class FeedForward:
    def __init__(self, module: Any, operators: Operators) -> None:
        names = {name for name, _ in module.named_children()} - {"act_fn"}
        if names != PARTS:
            raise Refused(f"{type(module).__name__} differs in {', '.join(sorted(names ^ PARTS))}")
        probe = torch.linspace(-4, 4, 9, device=module.down_proj.weight.device)
        if not torch.allclose(module.act_fn(probe), F.silu(probe)):
            raise Refused(f"the activation of {type(module).__name__} is not SiLU")
        self.output = plain(module.down_proj)
        self._inputs = merge([module.gate_proj, module.up_proj])
        self._gated = operators.gated

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x (1, hidden) gives (1, intermediate), which ``output`` takes."""
        return self._gated(self._inputs(x))
