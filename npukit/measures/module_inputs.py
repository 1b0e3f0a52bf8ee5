"""One module's arguments and output in one call, to a file: what a replay of that module alone needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from npukit.measures.trace import run, tensors_of
from npukit.worker.context import WorkerContext


class _Reached(Exception):
    """The call is recorded: the rest of the answer need not be computed."""


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` is trace's, with module and call."""
    session = context.session(request["load"])
    module = dict(session.model.named_modules())[request["module"]]
    tensors: dict[str, torch.Tensor] = {}
    skeletons: list[Any] = []
    calls = 0

    def note(_: Any, args: Any, kwargs: Any, output: Any) -> None:
        nonlocal calls
        calls += 1
        if calls - 1 == request["call"]:
            skeletons.append(pack([list(args), kwargs], tensors))
            for number, tensor in enumerate(tensors_of(output, floats=True)):
                tensors[f"output.{number}"] = tensor.detach().cpu().contiguous().clone()
            raise _Reached

    handle = module.register_forward_hook(note, with_kwargs=True)
    try:
        run(session, request)
    except _Reached:
        pass
    finally:
        handle.remove()
    save_file(tensors, request["path"], metadata={"arguments": json.dumps(skeletons[0])})
    return {"tensors": len(tensors)}


def pack(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """``value`` as JSON, tensors put into ``tensors`` and named; what is neither (a cache) becomes None."""
    if isinstance(value, torch.Tensor):
        name = f"input.{len(tensors)}"
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        return {"dict": {str(name): pack(one, tensors) for name, one in value.items()}}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [pack(one, tensors) for one in value]}
    return value if isinstance(value, (str, int, float, bool)) else None


def unpack(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """The reverse of ``pack``."""
    if not isinstance(value, dict):
        return value
    kind, inner = next(iter(value.items()))
    if kind == "tensor":
        return tensors[inner]
    if kind == "dict":
        return {name: unpack(one, tensors) for name, one in inner.items()}
    return (tuple if kind == "tuple" else list)(unpack(one, tensors) for one in inner)


def read_inputs(path: Path) -> tuple[list[Any], dict[str, Any], list[torch.Tensor]]:
    """Positional arguments, keyword arguments, and the floating tensors of the output."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        arguments = json.loads(file.metadata()["arguments"])
    args, kwargs = unpack(arguments, tensors)
    outputs = sorted((name for name in tensors if name.startswith("output.")), key=lambda n: int(n[7:]))
    return args, kwargs, [tensors[name] for name in outputs]
