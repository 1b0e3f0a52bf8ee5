"""Window attention of MiniCPM-V-4.6's vision tower over all windows and slices at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from npukit.accelerations import Applied, Refused
from npukit.devices.base import Device

WHY = "the original loops over the windows of every slice: hundreds of small attentions, one by one"
GAIN = "10 slices: 3,404 to 686 operators, the same values"

PARTS = {"q_proj", "k_proj", "v_proj", "out_proj"}
BOUNDS = (0, 4, 8, 12, 18)  # of the self test's segments
LIMITS = {torch.float32: 1e-5, torch.float64: 1e-10}  # relative L2
HALF_LIMIT = 0.01


def apply(model: Any, device: Device, in_force: Mapping[str, Any]) -> Applied:
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
    """Stands in for ``module.forward``: neighbouring segments of equal length (the windows of all slices, or
    the slices) are one batch of one attention."""

    def __init__(self, module: Any) -> None:
        self._module, self._original = module, module.forward

    def __call__(
        self, hidden_states: torch.Tensor, cu_seqlens: torch.Tensor, *rest: Any, **named: Any
    ) -> Any:
        if hidden_states.shape[0] != 1 or named.get("attention_mask") is not None:
            return self._original(hidden_states, cu_seqlens, *rest, **named)
        module = self._module
        query, key, value = (
            project(hidden_states[0]).view(-1, module.num_heads, module.head_dim)
            for project in (module.q_proj, module.k_proj, module.v_proj)
        )
        mixed = [
            attend(query[start:end], key[start:end], value[start:end], length, module.scaling)
            for start, end, length in _runs(cu_seqlens.tolist())
        ]
        whole = mixed[0] if len(mixed) == 1 else torch.cat(mixed)
        return module.out_proj(whole.view(hidden_states.shape)), None


def attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, length: int, scale: float
) -> torch.Tensor:
    """Attention within each ``length`` of positions: (positions, heads, head_dim) gives (positions, all)."""
    shape = (-1, length, *query.shape[1:])
    query, key, value = (part.view(shape).transpose(1, 2) for part in (query, key, value))
    mixed = F.scaled_dot_product_attention(query, key, value, scale=scale)
    return mixed.transpose(1, 2).reshape(-1, shape[-2] * shape[-1])


def _runs(bounds: list[int]) -> Iterator[tuple[int, int, int]]:
    """First and last bound of neighbouring segments of one length, and that length."""
    segments = ((end - start, start, end) for start, end in itertools.pairwise(bounds))
    for length, group in itertools.groupby(segments, key=lambda segment: segment[0]):
        run = list(group)
        yield run[0][1], run[-1][2], length


def self_test(module: Any) -> float:
    """The relative L2 distance between both forms over a few windows. Raises Refused."""
    weight = module.q_proj.weight
    x = torch.linspace(-1, 1, BOUNDS[-1] * weight.shape[1], device=weight.device).mul(50).sin()
    x = x.to(weight.dtype).view(1, BOUNDS[-1], -1)
    bounds = torch.tensor(BOUNDS, device=weight.device, dtype=torch.int32)
    expected = module.forward(x, cu_seqlens=bounds, max_seqlen=6)[0].float()
    seen = Batched(module)(x, cu_seqlens=bounds, max_seqlen=6)[0].float()
    distance = float((seen - expected).norm() / expected.norm())
    if not distance <= LIMITS.get(weight.dtype, HALF_LIMIT):
        raise Refused(f"its batched attention differs by {distance:.2g} (relative L2)")
    return distance
