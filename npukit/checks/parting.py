"""accuracy --bisect: the first module whose error jumps beyond its inputs' share, and the operator in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from npukit.checks import judged
from npukit.checks.comparing import EPS, least_floor
from npukit.results import Check

JUMP = 4.0  # times what the dtype makes of the same module on the CPU
SHARE = 2.0  # times what the dtype makes of its inputs
OPERATOR_EPS = 8.0
LAYER = re.compile(r"(?:^|\.)(?:layers|blocks|layer|h|block)\.\d+$")


def first_jump(rows: Sequence[Mapping[str, Any]], dtype: str) -> Mapping[str, Any] | None:
    """The first call to end with an output beyond the floor from inputs within it. Calls inside a module end
    before it does, so the innermost one is named."""
    least = least_floor(dtype)
    for row in rows:
        floor_in, floor_out = (max(float(row[name] or 0), least) for name in ("floor_in", "floor_out"))
        if not float(row["out"]) <= JUMP * floor_out and float(row["in"]) <= SHARE * floor_in:
            return row
    return None


def first_wrong_operator(operators: Sequence[Mapping[str, Any]], dtype: str) -> Mapping[str, Any] | None:
    """The first operator that differs from the CPU in float64 by more than its dtype's rounding."""
    for row in operators:
        if row["error"] is not None and not float(row["error"]) <= OPERATOR_EPS * EPS[dtype]:
            return row
    return None


def curve(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The layers' own rows of the first pass: the error per layer, in order."""
    return [row for row in rows if row["call"] == 0 and LAYER.search(row["module"])]


def parting_check(measured: Mapping[str, Any]) -> Check:
    expected = "no module's error jumps beyond its inputs' share"
    found = measured.get("parting")
    if not found:
        return judged("accuracy.parting", None, expected, "asked for with --bisect")
    dtype = measured["candidate"]["dtype"]
    row = first_jump(found["rows"], dtype)
    if row is None:
        seen = f"none of {len(found['rows'])} module calls does"
        replaced = measured["candidate"].get("accelerations") or []
        if not replaced:
            return judged("accuracy.parting", True, expected, seen)
        # a decoding step of its own calls no modules
        aside = f"{seen}; not looked into: {', '.join(replaced)} (npukit accuracy --bisect --no-accelerate)"
        return judged("accuracy.parting", True, expected, aside)
    seen = (
        f"{row['module'] or 'the model'} ({row['kind']}), call {row['call']}: inputs {float(row['in']):.3g}, "
        f"output {float(row['out']):.3g}, on the CPU {float(row['floor_out'] or 0):.3g}"
    )
    return judged(
        "accuracy.parting", False, expected, seen, cause=_cause(found["replay"], dtype), remedy=REMEDY
    )


REMEDY = "npukit accuracy --bisect --json   # every module under measured.parting.rows"


def _cause(replay: Mapping[str, Any] | None, dtype: str) -> str:
    if replay is None or replay["unavailable"]:
        why = f" ({replay['unavailable']})" if replay else ""
        return f"the module computes something else; it could not be run alone{why}"
    operator = first_wrong_operator(replay["operators"], dtype)
    if operator is not None:
        return f"{operator['operator']} is {float(operator['error']):.3g} from the CPU on the same inputs"
    return (
        f"alone on the reference's inputs the module is {float(replay['alone']):.3g} off, while each of its "
        f"{len(replay['operators'])} operators agrees with the CPU: its code differs, not an operator"
    )
