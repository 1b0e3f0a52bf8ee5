"""One module alone on the reference's inputs, operator by operator, each against the CPU in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from npukit.measures.module_inputs import read_inputs
from npukit.measures.trace import tensors_of
from npukit.session import Session
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, module, and path: what module_inputs wrote.

    ``alone`` is the module's own relative L2 error on the reference's inputs; ``operators`` are rows of
    operator and relative L2 error against the same operator on the CPU in float64, on the same inputs (None
    where the CPU has no such operator). ``unavailable`` says why a module cannot run alone.
    """
    session = context.session(request["load"])
    context.progress(f"replaying {request['module']} alone")
    args, kwargs, believed = read_inputs(Path(request["path"]))
    module = dict(session.model.named_modules())[request["module"]]
    placed_args, placed_kwargs = (tree_map(lambda one: _place(session, one), each) for each in (args, kwargs))
    against = _Against()
    try:
        with torch.inference_mode(), session.device.precision(session.spec.precision), against:
            output = module(*placed_args, **placed_kwargs)
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        return {"unavailable": f"{type(error).__name__}: {error}", "alone": None, "operators": []}
    outputs = list(tensors_of(output, floats=True))
    alone = max(
        (_apart(left, right.cpu()) for left, right in zip(believed, outputs, strict=False)), default=0.0
    )
    return {"unavailable": "", "alone": alone, "operators": against.rows}


def _place(session: Session, value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    value = value.to(session.device.torch_device)
    return value.to(session.model.dtype) if value.is_floating_point() else value


class _Against(TorchDispatchMode):
    """Runs every operator where it is, and again on the CPU in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # before the operator runs: it may write into its own inputs
        doubled = tree_map(_double, (list(args), kwargs))
        output = func(*args, **kwargs)
        floats = list(tensors_of(output, floats=True))
        if floats:
            self.rows.append({"operator": str(func), "error": _error(func, doubled, floats)})
        return output


def _double(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return value.double() if value.is_floating_point() else value.clone()
    return torch.device("cpu") if isinstance(value, torch.device) else value


def _error(func: Any, doubled: Any, floats: list[torch.Tensor]) -> float | None:
    args, kwargs = doubled
    try:
        again = list(tensors_of(func(*args, **kwargs), floats=True))
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return None
    if [tuple(one.shape) for one in again] != [tuple(one.shape) for one in floats]:
        return None
    return max(_apart(left, right.cpu()) for left, right in zip(again, floats, strict=True))


def _apart(believed: torch.Tensor, judged: torch.Tensor) -> float:
    """Relative L2, in float64."""
    if believed.shape != judged.shape:
        return float("inf")
    left, right = believed.double(), judged.double()
    both_off = ~torch.isfinite(left) & ((left == right) | (left.isnan() & right.isnan()))
    left, right = left.masked_fill(both_off, 0), right.masked_fill(both_off, 0)  # masks hold -inf
    apart, length = (right - left).norm().item(), left.norm().item()
    return apart / length if length else (0.0 if apart == 0 else float("inf"))
