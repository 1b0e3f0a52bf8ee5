"""Which operators a model calls, how often, and in which phase: vision, prefill or decode."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from npukit.emulator.kernels import read_kernels
from npukit.errors import NpukitError
from npukit.measures.dispatches import VIEWS
from npukit.session import Session
from npukit.worker.context import WorkerContext

COMPOSITE = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
VISION = ("vision", "visual", "vpm")
FEW_TOKENS = 3  # prefill, and decoding twice


class Phases(TorchDispatchMode):
    """Counts operators by phase while it is entered; hooks on the model tell where it is."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.counts: dict[str, Counter[str]] = {
            "vision": Counter(),
            "prefill": Counter(),
            "decode": Counter(),
        }
        self._forwards = 0
        self._in_vision = 0
        self._handles = [model.register_forward_pre_hook(self._begun)]
        for name, module in model.named_modules():
            *above, last = name.split(".")
            nested = any(word in part for part in above for word in VISION)
            if any(word in last for word in VISION) and not nested:
                self._handles.append(module.register_forward_pre_hook(self._enters))
                self._handles.append(module.register_forward_hook(self._leaves))

    def _begun(self, *_: Any) -> None:
        self._forwards += 1

    def _enters(self, *_: Any) -> None:
        self._in_vision += 1

    def _leaves(self, *_: Any) -> None:
        self._in_vision -= 1

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.overloadpacket.__name__ not in VIEWS:
            phase = "vision" if self._in_vision else "prefill" if self._forwards < 2 else "decode"
            self.counts[phase][_name(func)] += 1
        return func(*args, **(kwargs or {}))

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, messages and new_tokens; counts are of the whole answer. ``composite`` names
    the operators that torch makes of others wherever a device has no kernel."""
    session = context.session(request["load"])
    context.device.enter_thread()
    counts = _counted(session, session.encode(request["messages"], {}), {}, request["new_tokens"])
    seen = {name for one in counts.values() for name in one}
    return {
        "phases": {phase: dict(one.most_common()) for phase, one in counts.items()},
        "composite": sorted(name for name in seen if _composite(name)),
    }


def measure_fallbacks(
    context: WorkerContext, session: Session, inputs: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any] | None:
    """Calls that the device's torch_npu has no kernel for, by operator, in one answer of ``FEW_TOKENS``.

    None where the device is no NPU; ``unavailable`` says why the kernels could not be read.
    """
    if context.device.name.kind != "npu":
        return None
    try:
        kernels = read_kernels()
    except NpukitError as error:
        return {"unavailable": str(error)}
    counts = sum(_counted(session, inputs, options, FEW_TOKENS).values(), Counter())
    fallbacks = {
        name: calls
        for name, calls in counts.most_common()
        if kernels.kind(name, _composite(name)) == "fallback"
    }
    return {"torch_npu": kernels.torch_npu, "operators": len(counts), "fallbacks": fallbacks}


def _counted(
    session: Session, inputs: dict[str, Any], options: dict[str, Any], tokens: int
) -> dict[str, Counter[str]]:
    phases = Phases(session.model)
    try:
        with phases:
            session.generate(inputs, max_new_tokens=tokens, min_new_tokens=tokens, options=options)
    finally:
        phases.close()
    return phases.counts


def _name(func: Any) -> str:
    """``aten::add.Tensor``, the default overload without its name."""
    return str(func.name())


def _composite(name: str) -> bool:
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in COMPOSITE)
