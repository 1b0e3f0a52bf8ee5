"""RMS norms as one operator, recognised by what they compute and not by their class."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from npukit.accelerations import Refused

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}  # of values around 1; half precision: HALF
HALF = 0.02


class Norm:
    """``x / rms(x) * scale`` over the last dimension, in float32, rounded once to the dtype of ``x``."""

    def __init__(self, scale: torch.Tensor, eps: float) -> None:
        self.scale, self.eps = scale, eps
        self._shape = tuple(scale.shape)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype == self.scale.dtype:
            return F.rms_norm(x, self._shape, self.scale, self.eps)
        # a scale of 1 + weight would lose its digits in half precision
        return F.rms_norm(x.to(self.scale.dtype), self._shape, self.scale, self.eps).to(x.dtype)


def recognise_norm(module: Any) -> Norm:
    """The norm that ``module`` computes: by its weight, or by 1 + its weight. Raises Refused."""
    name = type(module).__name__
    weight = getattr(module, "weight", None)
    eps = getattr(module, "eps", getattr(module, "variance_epsilon", None))
    if weight is None or eps is None or [n for n, _ in module.named_parameters()] != ["weight"]:
        raise Refused(f"{name} is not a norm with one weight and an epsilon")
    weight = weight.detach()
    x = torch.linspace(-2, 2, weight.numel(), device=weight.device).to(weight.dtype).reshape(1, -1)
    expected = module(x)
    for norm in (Norm(weight, float(eps)), Norm(1 + weight.float(), float(eps))):
        if torch.allclose(norm(x), expected, rtol=0, atol=TOLERANCE.get(weight.dtype, HALF)):
            return norm
    raise Refused(f"{name} computes no RMS norm that is known")
