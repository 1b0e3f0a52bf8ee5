"""RMS norms, recognised by what they compute and not by their class."""

from __future__ import annotations

from typing import Any

import torch

from npukit.accelerations import Refused
from npukit.accelerations.operators import Norm, Operators

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}  # of values around 1; half precision: HALF
HALF = 0.02


def recognise_norm(module: Any, operators: Operators, size: int) -> Norm:
    """The norm over ``size`` values that ``module`` computes: by its weight, or by 1 + it. Raises Refused."""
    name = type(module).__name__
    weight = getattr(module, "weight", None)
    eps = getattr(module, "eps", getattr(module, "variance_epsilon", None))
    if weight is None or eps is None or [n for n, _ in module.named_parameters()] != ["weight"]:
        raise Refused(f"{name} is not a norm with one weight and an epsilon")
    if weight.shape != (size,):
        raise Refused(f"{name} norms {weight.numel()} values, not {size}")
    weight = weight.detach()
    x = torch.linspace(-2, 2, weight.numel(), device=weight.device).to(weight.dtype).reshape(1, -1)
    expected = module(x)
    for zero_centred in (False, True):
        norm = operators.norm(weight, float(eps), zero_centred=zero_centred)
        if torch.allclose(norm(x), expected, rtol=0, atol=TOLERANCE.get(weight.dtype, HALF)):
            return norm
    raise Refused(f"{name} computes no RMS norm that is known")
