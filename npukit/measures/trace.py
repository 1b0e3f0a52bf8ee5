"""Every module's inputs and outputs of one answer, as sketches: what tells where two runs part.

Memory is bounded: ``WIDTH`` numbers per tensor, however large it is. The trace goes to a safetensors file:
one tensor ``sketches`` (tensors, WIDTH + 1), and metadata ``rows``: per module call its name, kind, call
number, and which sketches are its inputs and outputs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from npukit.measures.sketch import sketch
from npukit.session import Session
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, messages, options, new_tokens, the path to write, and drop: whether the model
    is to leave memory afterwards."""
    session = context.session(request["load"])
    context.progress(f"tracing every module in {session.spec.dtype} on {context.device.name}")
    with traced(session.model) as (rows, sketches):
        run(session, request)
    metadata = {"rows": json.dumps(rows)}
    save_file({"sketches": torch.stack(sketches)}, request["path"], metadata=metadata)
    if request["drop"]:
        context.drop()
    return {"modules": len(rows)}


def run(session: Session, request: dict[str, Any]) -> None:
    """What is traced: the prompt in one pass, then an answer, whose tokens pass through the modules one by
    one (unless an acceleration decodes in a step of its own)."""
    options = request["options"]
    tokens = request["new_tokens"]
    inputs = session.encode(request["messages"], options)
    session.logits(inputs, options)
    session.generate(inputs, max_new_tokens=tokens, min_new_tokens=tokens, options=options)


@contextlib.contextmanager
def traced(model: Any) -> Iterator[tuple[list[dict[str, Any]], list[torch.Tensor]]]:
    """While the block lasts, every module call adds a row, in the order in which calls end."""
    rows: list[dict[str, Any]] = []
    sketches: list[torch.Tensor] = []
    calls: dict[str, int] = {}

    def keep(value: Any, floats: bool) -> list[int]:
        start = len(sketches)
        sketches.extend(sketch(tensor) for tensor in tensors_of(value, floats=floats))
        return list(range(start, len(sketches)))

    def hook(name: str, kind: str) -> Any:
        def note(module: Any, args: Any, kwargs: Any, output: Any) -> None:
            # of inputs whole numbers count too (positions, chosen experts); of outputs they flip by rounding
            call = calls[name] = calls.get(name, -1) + 1
            row = {"module": name, "kind": kind, "call": call}
            rows.append({**row, "in": keep([args, kwargs], False), "out": keep(output, True)})

        return note

    handles = [
        module.register_forward_hook(hook(name, type(module).__name__), with_kwargs=True)
        for name, module in model.named_modules()
    ]
    try:
        yield rows, sketches
    finally:
        for handle in handles:
            handle.remove()


def tensors_of(value: Any, *, floats: bool = False) -> Iterator[torch.Tensor]:
    """The tensors in a module's arguments or output, in order; ``floats``: only the floating ones."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point() or not floats:
            yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_of(one, floats=floats)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_of(one, floats=floats)


def read_trace(path: Path) -> tuple[list[dict[str, Any]], torch.Tensor]:
    """Rows and sketches of a trace."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["rows"]), file.get_tensor("sketches")
