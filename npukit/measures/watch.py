"""NaN, inf and saturation per module: counted as the forward pass goes, nothing kept but numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


def float_tensors(value: Any) -> Iterator[torch.Tensor]:
    """The floating tensors in a module's output or arguments, in order."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from float_tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from float_tensors(one)


def saturation(dtype: torch.dtype) -> float:
    """The magnitude at which a value counts as saturated: chips without inf clip to it."""
    return torch.finfo(dtype).max


def count(tensor: torch.Tensor) -> dict[str, Any]:
    """``nan``, ``inf``, ``saturated`` (numbers of values) and ``max_abs`` of the finite ones."""
    finite = torch.isfinite(tensor)
    sizes = torch.where(finite, tensor, torch.zeros_like(tensor)).abs()
    return {
        "nan": int(torch.isnan(tensor).sum()),
        "inf": int(torch.isinf(tensor).sum()),
        "saturated": int((sizes >= saturation(tensor.dtype)).sum()),
        "max_abs": float(sizes.max()) if tensor.numel() else 0.0,
    }


@contextlib.contextmanager
def watched(model: Any) -> Iterator[list[dict[str, Any]]]:
    """While the block lasts, a row per module in the order in which they end: name, kind and counts."""
    rows: list[dict[str, Any]] = []

    def hook(name: str, kind: str) -> Any:
        def note(module: Any, arguments: Any, output: Any) -> None:
            for tensor in list(float_tensors(output))[:1]:
                rows.append({"module": name, "kind": kind, **count(tensor)})

        return note

    handles = [
        module.register_forward_hook(hook(name, type(module).__name__))
        for name, module in model.named_modules()
    ]
    try:
        yield rows
    finally:
        for handle in handles:
            handle.remove()
