"""Window attention of MiniCPM-V-4.6's vision tower over all windows and slices at once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from npukit.accelerations import Refused
from npukit.devices.base import Device

WHY = "the original loops over the windows of every slice: hundreds of small attentions, one by one"
GAIN = "10 slices: 3,404 to 686 operators, the same values"

PARTS = {"q_proj", "k_proj", "v_proj", "out_proj"}
WINDOW, WINDOWS = 4, 3  # of the self test
LIMITS = {torch.float32: 1e-5, torch.float64: 1e-10}  # relative L2
HALF_LIMIT = 0.01


@dataclass(frozen=True)
class Applied:
    reason: str


def apply(model: Any, device: Device) -> Applied:
    """Give every attention over windows of one length its batched form."""
    attentions = [module for module in model.modules() if _recognised(module)]
    if not attentions:
        raise Refused("it has no attention over vision windows")
    with torch.no_grad():
        distance = max(self_test(module) for module in attentions)
    for module in attentions:
        module.forward = Batched(module)
    return Applied(f"equal within {distance:.1e} on {len(attentions)} attentions")


def _recognised(module: Any) -> bool:
    names = {name for name, _ in module.named_children()}
    return names == PARTS and hasattr(module, "scaling") and "VisionAttention" in type(module).__name__


class Batched:
    """Stands in for ``module.forward``: windows of equal length are one batch of one attention; else the
    original serves."""

    def __init__(self, module: Any) -> None:
        self._module, self._original = module, module.forward

    def __call__(
        self, hidden_states: torch.Tensor, cu_seqlens: torch.Tensor, *rest: Any, **named: Any
    ) -> Any:
        window = _common_length(cu_seqlens, hidden_states.shape[1])
        if window is None or hidden_states.shape[0] != 1 or named.get("attention_mask") is not None:
            return self._original(hidden_states, cu_seqlens, *rest, **named)
        module = self._module
        heads = (-1, window, module.num_heads, module.head_dim)
        query, key, value = (
            project(hidden_states).view(heads).transpose(1, 2)
            for project in (module.q_proj, module.k_proj, module.v_proj)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, scale=module.scaling)
        return module.out_proj(mixed.transpose(1, 2).reshape(hidden_states.shape)), None


def _common_length(cu_seqlens: torch.Tensor, positions: int) -> int | None:
    """The length of all segments, where they have one. One look at the device."""
    bounds = cu_seqlens.tolist()
    lengths = {end - start for start, end in itertools.pairwise(bounds)}
    return lengths.pop() if len(lengths) == 1 and bounds[-1] == positions else None


def self_test(module: Any) -> float:
    """The relative L2 distance between both forms over a few windows. Raises Refused."""
    weight = module.q_proj.weight
    x = torch.linspace(-1, 1, WINDOWS * WINDOW * weight.shape[1], device=weight.device).sin()
    x = x.to(weight.dtype).view(1, WINDOWS * WINDOW, -1)
    bounds = torch.arange(0, WINDOWS * WINDOW + 1, WINDOW, device=weight.device, dtype=torch.int32)
    expected = module.forward(x, cu_seqlens=bounds, max_seqlen=WINDOW)[0].float()
    seen = Batched(module)(x, cu_seqlens=bounds, max_seqlen=WINDOW)[0].float()
    distance = float((seen - expected).norm() / expected.norm())
    if not distance <= LIMITS.get(weight.dtype, HALF_LIMIT):
        raise Refused(f"its batched attention differs by {distance:.2g} (relative L2)")
    return distance
