"""Products with the weights of linear maps: several maps of one input become one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from npukit.accelerations import Refused


class Product:
    """``x @ weight.T + bias`` for x (1, inputs); ``added_to`` adds it to a residual.

    On the CPU a matrix times a vector: torch's own path for one row reads half-precision weights at 1.2 to 2
    times the rate of its general product (torch 2.13, AVX-512).
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self.weight, self.bias = weight, bias
        self._by_vector = weight.device.type == "cpu"

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if not self._by_vector:
            return F.linear(x, self.weight, self.bias)
        if self.bias is None:
            return torch.mv(self.weight, x[0])[None]
        return torch.addmv(self.bias, self.weight, x[0])[None]

    def added_to(self, residual: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        if self.bias is not None:
            return residual + self(x)
        if self._by_vector:
            return torch.addmv(residual[0], self.weight, x[0])[None]
        return torch.addmm(residual, x, self.weight.T)


def plain(linear: Any) -> Product:
    """The product of one linear map. Raises Refused where it is no plain one (quantised, adapted)."""
    if type(linear) is not nn.Linear:
        raise Refused(f"{type(linear).__name__} is not a plain linear map")
    return Product(linear.weight.detach(), None if linear.bias is None else linear.bias.detach())


def merge(linears: Sequence[Any]) -> Product:
    """One product for maps of the same input, outputs side by side.

    The maps themselves stay usable: their weights become views of the merged one, so memory holds them once.
    """
    products = [plain(linear) for linear in linears]
    if len({(product.weight.dtype, product.weight.device) for product in products}) > 1:
        raise Refused("the weights of one layer differ in dtype or device")
    weight = torch.cat([product.weight for product in products])
    biases = [product.bias for product in products]
    bias = None
    if any(b is not None for b in biases):
        bias = torch.cat([weight.new_zeros(len(p.weight)) if p.bias is None else p.bias for p in products])
    start = 0
    for linear in linears:
        end = start + linear.out_features
        linear.weight.data = weight[start:end]
        if linear.bias is not None and bias is not None:
            linear.bias.data = bias[start:end]
        start = end
    return Product(weight, bias)
