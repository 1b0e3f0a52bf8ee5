"""Where candidate and reference part: traces of both and of the floor, then the module replayed alone.

Never two models in memory: each trace is a process of its own, and a candidate on the CPU leaves memory
while the others run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from npukit.checks.parting import first_jump
from npukit.context import Context
from npukit.devices.name import DeviceName
from npukit.worker.pool import Workers

MAX_TOKENS = 3  # prompt, and decoding with a cache; more would only repeat


def find_parting(
    context: Context,
    workers: Workers,
    rows: Sequence[Mapping[str, Any]],
    *,
    candidate: Mapping[str, Any],
    reference: Mapping[str, Any],
    floor: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """``rows`` are accuracy's, one per prompt: the worst is traced. The sides are changes to the load."""
    worst = max(rows, key=lambda row: _badness(row["total"]["relative_l2"]))
    parted = worst["generation"]["first_difference"]
    request = {
        "messages": next(one["messages"] for one in context.prompts() if one["id"] == worst["prompt"]),
        "options": context.recipe.generation.inputs,
        # beyond the first token that differs, both sides are fed different ones
        "new_tokens": MAX_TOKENS if parted is None else min(MAX_TOKENS, parted + 1),
    }
    cpu = DeviceName("cpu")
    drop = context.device == cpu
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(Path(folder, name)) for name in ("reference", "candidate", "floor", "module")}
        load = context.load(**candidate)
        workers.device().ask("trace", load=load, path=paths["candidate"], drop=drop, **request)
        if floor is not None:
            with workers.aside(cpu) as worker:
                worker.ask(
                    "trace",
                    load=context.load(**floor, accelerate=[]),
                    path=paths["floor"],
                    drop=True,
                    **request,
                )
        with workers.aside(cpu) as worker:
            believed = context.load(**reference, accelerate=[])
            worker.ask("trace", load=believed, path=paths["reference"], drop=False, **request)
            errors = worker.ask(
                "parting",
                reference=paths["reference"],
                candidate=paths["candidate"],
                floor=paths["floor"] if floor is not None else None,
            )
            jump = first_jump(errors, str(load["dtype"]))
            if jump is not None:
                call = {"module": jump["module"], "call": jump["call"]}
                worker.ask("module_inputs", load=believed, path=paths["module"], **call, **request)
        replay = None
        if jump is not None:
            replay = workers.device().ask("replay", load=load, path=paths["module"], module=jump["module"])
    return {"prompt": worst["prompt"], "new_tokens": request["new_tokens"], "rows": errors, "replay": replay}


def _badness(error: Any) -> float:
    value = float(error)
    return value if value == value else float("inf")
