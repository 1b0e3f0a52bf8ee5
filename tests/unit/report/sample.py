"""Results as the stages of a small model would give them; tests damage copies."""

from __future__ import annotations

import copy
from typing import Any

from npukit.recipe import Prompt, Recipe, Source
from npukit.report.evidence import Evidence, Found
from npukit.results import Check, Judged, StageResult

WEIGHTS = "ab" * 32
RECIPE = Recipe(
    name="small",
    title="Small",
    task="text-generation",
    source=Source(order=("builtin",), builtin="small"),
    prompts=(Prompt(id="hello", text="Say | hello"),),
    tags=("tiny",),
    license="MIT",
)


def bench_measured() -> dict[str, Any]:
    rows = [_round(20.0 + step) for step in range(5)]
    memory = {"allocated_bytes": 9000, "peak_allocated_bytes": 9000, "total_bytes": 10**6}
    return {
        "device": {"device": "npu:0", "name": "Ascend910B3", "cann": "8.5.1", "total_bytes": 10**6},
        "load": {"parameters": 1000, "dtypes": {"float16": 1000}, "load_s": 0.5, "accelerations": []},
        "prompt_tokens": 7,
        "new_tokens": 4,
        "warmup": [_round(90.0)],
        "rounds": rows,
        "memory": {"loaded": memory, "rounds": dict(memory)},
        "dispatches": {"mm": 10},
        "decode_bytes": 2000,
        "limits": {"read_bytes_per_s": 1e9, "matmul_flop_per_s": 1e12},
        "load_average": {"before": 0.0, "cores": 2},
        "sustained": None,
        "conditions": {
            "prompt": "hello", "dtype": "float16", "warmup": 1, "rounds": 5, "new_tokens": 4,
            "seconds": None, "sustained_tokens": 0,
        },
    }  # fmt: skip


def _round(first_ms: float) -> dict[str, Any]:
    times = [first_ms, first_ms + 5, first_ms + 10, first_ms + 15]
    return {
        "prepare_ms": 1.0, "vision_ms": 0.0, "prefill_ms": first_ms, "decode_ms": 15.0, "detokenise_ms": 0.5,
        "ttft_ms": 1.0 + first_ms, "total_ms": first_ms + 16.5, "token_ms": times, "tokens": 4,
        "prompt_tokens": 7,
    }  # fmt: skip


def accuracy_measured() -> dict[str, Any]:
    total = {
        "cosine": 0.9999, "max_abs": 0.5, "mean_abs": 0.1, "relative_l2": 0.02, "relative_mean": 0.01,
        "top1_agreement": 1.0,
    }  # fmt: skip
    row = {"prompt": "hello", "positions": 7, "total": total, "generation": {"first_difference": None}}
    sides = {
        "candidate": {"device": "npu:0", "dtype": "float16"},
        "reference": {"device": "cpu", "dtype": "float32"},
    }
    return {"device": {"device": "npu:0", "name": "Ascend910B3"}, **sides, "prompts": [row]}


def result(stage: str, measured: dict[str, Any], **changes: Any) -> StageResult:
    fields: dict[str, Any] = {
        "stage": stage,
        "model": "small",
        "device": "npu:0",
        "key": "12" * 32,
        "inputs": {"stage": f"{stage}/1", "weights": WEIGHTS, "load.dtype": "float16"},
        "environment": {"torch": "2.9.0", "chip": "910B3", "cann": "8.5.1"},
        "measured": copy.deepcopy(measured),
        "started": "2026-01-31T12:00:00+00:00",
        "duration_s": 3.0,
        "npukit": "0.1.0",
    }
    return StageResult(**{**fields, **changes})


def judged(one: StageResult, *, passed: bool | None = True) -> Judged:
    check = Check(f"{one.stage}.check", passed, "all | of it", "seen", cause="why", remedy="npukit env")
    return Judged(one, (check,), True, "somewhere")


def evidence(*results: StageResult, **found: Found) -> Evidence:
    stages = {
        name: Found(None, ("never measured",)) for name in ("fetch", "patch", "verify", "accuracy", "bench")
    }
    held = {one.stage: Found(judged(one)) for one in results}
    return Evidence(RECIPE, "npu:0", {**stages, **held, **found})
