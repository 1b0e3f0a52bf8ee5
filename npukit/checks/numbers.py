"""verify: numbers that are none, another attention, another precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npukit.checks import judged, named
from npukit.results import Check

# relative L2 distance that two ways of computing the same attention may have, well above rounding
ATTENTION_LIMIT = {"float64": 1e-3, "float32": 1e-3, "float16": 0.02, "bfloat16": 0.1}


def number_checks(measured: Mapping[str, Any], dtype: str) -> list[Check]:
    return [
        _finite(measured["logits"]),
        _layers(measured["layers"]),
        _attention(measured["attention"], ATTENTION_LIMIT.get(dtype, 0.1)),
        _hf32(measured["hf32"]),
    ]


def _finite(logits: Mapping[str, Any]) -> Check:
    bad = logits["nan"] + logits["inf"] + logits["saturated"]
    return judged(
        "logits.finite",
        not bad,
        "no NaN, inf or saturated value among the logits",
        f"{logits['nan']} NaN, {logits['inf']} inf, {logits['saturated']} saturated, "
        f"largest {float(logits['max_abs']):.4g}",
        cause="an overflow in half precision (float16 ends at 65504), or a broken kernel",
        remedy="npukit verify --layers   # names the first module\nnpukit verify --dtype bfloat16",
    )


def _layers(rows: list[dict[str, Any]] | None) -> Check:
    expected = "no NaN, inf or saturated value in any module's output"
    if rows is None:
        return judged("layers.finite", None, expected, "asked for with --layers")
    bad = [row for row in rows if row["nan"] + row["inf"] + row["saturated"]]
    names = [
        f"{row['module'] or 'the model'} ({row['kind']}): {row['nan']} NaN, {row['inf']} inf, "
        f"{row['saturated']} saturated"
        for row in bad
    ]
    return judged(
        "layers.finite",
        not bad,
        expected,
        f"{len(rows) - len(bad)} of {len(rows)} outputs clean{named(names, 3)}",
        cause=f"it begins in {bad[0]['module'] or 'the model'}" if bad else "",
        remedy="npukit verify --dtype bfloat16   # or float32; then npukit accuracy --bisect",
    )


def _attention(found: Mapping[str, Any] | None, limit: float) -> Check:
    expected = f"sdpa and eager attention agree: relative L2 at most {limit:g}"
    if found is None:
        return judged("attention.agrees", None, expected, "the model has but one attention")
    distance = float(found["relative_l2"])
    return judged(
        "attention.agrees",
        distance <= limit,
        expected,
        f"{distance:.3g}, max abs {float(found['max_abs']):.3g}",
        cause="the fused attention reads the mask differently: transformers makes a float mask boolean on "
        "the NPU, which drops additive biases, and kernels differ on fully masked rows",
        remedy='attention = "eager" under [load] in the recipe',
    )


def _hf32(found: Mapping[str, Any] | None) -> Check:
    expected = "reduced float32 products are off in what is measured"
    if found is None:
        return judged("precision.hf32", None, expected, "the device or the dtype has none")
    off = float(found["in_force_max_abs"]) == 0 or float(found["max_abs"]) == 0
    return judged(
        "precision.hf32",
        off,
        expected,
        f"allowing them moves the logits by {float(found['max_abs']):.4g} at most; "
        f"this run is {float(found['in_force_max_abs']):.4g} from strict",
        cause="HF32 or TF32 is on: about 12 bits of mantissa in products that claim to be float32",
        remedy='precision = "strict" under [load] in the recipe',
    )
