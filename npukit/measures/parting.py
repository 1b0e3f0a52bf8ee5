"""Three traces against each other: per module call the error of its inputs and of its output."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

from npukit.measures.sketch import relative_distance
from npukit.measures.trace import read_trace
from npukit.worker.context import WorkerContext

Trace = tuple[list[dict[str, Any]], torch.Tensor]


def measure(context: WorkerContext, request: dict[str, Any]) -> list[dict[str, Any]]:
    """``request`` holds three paths: reference, candidate, and floor, which may be None."""
    reference, candidate = (read_trace(Path(request[name])) for name in ("reference", "candidate"))
    floor = read_trace(Path(request["floor"])) if request["floor"] else None
    return errors(reference, candidate, floor)


def errors(reference: Trace, candidate: Trace, floor: Trace | None) -> list[dict[str, Any]]:
    """Rows as the reference's calls ended: ``in`` and ``out`` are relative distances of the
    candidate, ``floor_in`` and ``floor_out`` of the floor (None without one). A call that one side did not
    make is left out."""
    found = {key(row): row for row in candidate[0]}
    floors = {key(row): row for row in floor[0]} if floor else {}
    rows = []
    for row in reference[0]:
        other, least = found.get(key(row)), floors.get(key(row))
        if other is None or not row["out"]:
            continue
        rows.append(
            {
                **{name: row[name] for name in ("module", "kind", "call")},
                "in": _apart(reference, row["in"], candidate, other["in"]),
                "out": _apart(reference, row["out"], candidate, other["out"]),
                "floor_in": _apart(reference, row["in"], floor, least["in"]) if floor and least else None,
                "floor_out": _apart(reference, row["out"], floor, least["out"]) if floor and least else None,
            }
        )
    return rows


def key(row: dict[str, Any]) -> tuple[str, int]:
    return row["module"], row["call"]


def _apart(reference: Trace, believed: list[int], other: Trace, judged: list[int]) -> float:
    """The largest distance over a call's tensors; NaN and another number of tensors are inf."""
    if len(believed) != len(judged):
        return math.inf
    distances = [
        relative_distance(reference[1][left], other[1][right])
        for left, right in zip(believed, judged, strict=True)
    ]
    return max((math.inf if math.isnan(one) else one for one in distances), default=0.0)
