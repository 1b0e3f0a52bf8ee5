"""accuracy: the candidate's error against the error that its dtype makes anyway, then the published rules.

The *dtype effect* is how far the candidate's dtype is from the reference when computed on the CPU: the noise
floor. The *device effect* is how far the candidate is from that same dtype on the CPU. An error well inside
the floor passes, well outside fails, far below is suspicious, and without a floor nothing is decided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from npukit.checks import judged, named
from npukit.recipe import Recipe
from npukit.results import Check

INSIDE, OUTSIDE = 2.0, 4.0  # times the floor
SUSPICIOUS = 0.1
COARSE = 0.25  # relative L2 of a dtype that does not carry the model any more
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
# a floor is never below this many eps: float32 runs can agree by luck, half floors are far above it
LEAST_EPS = {"float64": 4.0, "float32": 4.0, "float16": 1 / 16, "bfloat16": 1 / 16}
ONE_PERCENT = 0.01
BISECT = "npukit accuracy --bisect   # names the first module whose error jumps"
TELL_APART = "npukit accuracy --dtype float32   # tells the device's effect from the dtype's"


def accuracy_checks(recipe: Recipe, measured: Mapping[str, Any]) -> tuple[Check, ...]:
    rows, dtype = measured["prompts"], measured["candidate"]["dtype"]
    floor = _floor_check(rows, dtype, measured["floor"])
    return (
        _loaded(measured["candidate"]),
        _finite(rows),
        floor,
        _real(rows, measured["candidate"]),
        _dtype_effect(rows, dtype),
        _text(rows),
        *_limits(rows, recipe.accuracy.limits(dtype)),
        _one_percent(rows, floor.passed),
        _vendor(rows, floor.passed),
    )


def pooled(rows: Sequence[Mapping[str, Any]], part: str) -> float | None:
    """The relative L2 of all prompts together (root mean square); None where the part was not measured."""
    values = [float(row[part]["relative_l2"]) for row in rows if row.get(part)]
    return math.sqrt(math.fsum(value * value for value in values) / len(values)) if values else None


def least_floor(dtype: str) -> float:
    return LEAST_EPS[dtype] * EPS[dtype]


def ratios(rows: Sequence[Mapping[str, Any]], dtype: str) -> dict[str, float] | None:
    """The candidate's error in units of the floor: pooled over prompts for the prompts' own positions and
    for the steps of the answers, and the worst single prompt. None without a usable floor."""
    floor, steps = pooled(rows, "dtype"), pooled(rows, "generation_floor")
    if floor is None or steps is None or not math.isfinite(floor) or not math.isfinite(steps):
        return None
    least = least_floor(dtype)
    single = [
        float(row["total"]["relative_l2"]) / max(float(row["dtype"]["relative_l2"]), least) for row in rows
    ]
    return {
        "prompt": (pooled(rows, "total") or 0.0) / max(floor, least),
        "generation": (pooled(rows, "generation") or 0.0) / max(steps, least),
        "worst": math.nan if any(math.isnan(one) for one in single) else max(single),
    }


def _loaded(candidate: Mapping[str, Any]) -> Check:
    return judged(
        "accuracy.loaded",
        not candidate["missing"],
        "no tensor of either side was initialised at random",
        f"{candidate['missing']} were" if candidate["missing"] else "none was",
        cause="reference and candidate share what the checkpoint lacks, so their agreement proves nothing",
        remedy="npukit verify --strict",
    )


def _finite(rows: Sequence[Mapping[str, Any]]) -> Check:
    bad = [f"{row['prompt']}: {row['unfinite']['candidate']}" for row in rows if row["unfinite"]["candidate"]]
    shared = all(row["unfinite"]["reference"] for row in rows if row["unfinite"]["candidate"])
    return judged(
        "accuracy.finite",
        not bad,
        "no NaN or inf among the candidate's logits",
        f"NaN or inf{named(bad)}" if bad else "none",
        cause="the reference has them too: the weights or the code"
        if shared
        else "an overflow, or a broken kernel",
        remedy="npukit verify --layers   # names the first module\nnpukit accuracy --dtype bfloat16",
    )


def _floor_check(rows: Sequence[Mapping[str, Any]], dtype: str, floor: Mapping[str, Any] | None) -> Check:
    expected = f"at most {INSIDE:g} times the error that {dtype} makes on the CPU; above {OUTSIDE:g} fails"
    found = ratios(rows, dtype)
    total = pooled(rows, "total")
    if found is None:
        why = "it could not be measured" if floor is None else "it is NaN or inf"
        return judged(
            "accuracy.noise-floor",
            None,
            expected,
            f"undecided, there is no noise floor: {why}; error {total:.4%}",
        )
    worst = max(found["prompt"], found["generation"])
    # NaN fails every comparison, and so fails the check
    inside = worst <= INSIDE and found["worst"] <= OUTSIDE
    outside = not (worst <= OUTSIDE and found["worst"] <= OUTSIDE)
    seen = (
        f"{found['prompt']:.2f} times over the prompts, {found['generation']:.2f} over the answers, "
        f"{found['worst']:.2f} at worst"
    )
    if pooled(rows, "device") == 0:
        seen += "; it is computed as the floor is, so this shows the dtype's effect and no device's"
    if not inside and not outside:
        return judged(
            "accuracy.noise-floor", None, expected, f"undecided, neither inside nor outside: {seen}"
        )
    return judged(
        "accuracy.noise-floor",
        inside,
        expected,
        seen,
        cause="the candidate computes something else than the reference: more than rounding parts them",
        remedy=f"{TELL_APART}\n{BISECT}",
    )


def _real(rows: Sequence[Mapping[str, Any]], candidate: Mapping[str, Any]) -> Check:
    dtype = candidate["dtype"]
    expected = f"an error that {dtype} can give: at least {SUSPICIOUS:g} of the floor's"
    if EPS[dtype] < EPS["float16"]:
        return judged("accuracy.dtype-ran", None, expected, f"{dtype} has next to no error to show")
    found = ratios(rows, dtype)
    held = candidate["parameters"].get(dtype, 0) / max(1, sum(candidate["parameters"].values()))
    exact = min(float(row["representable"]) for row in rows)
    seen = f"{held:.0%} of the parameters are {dtype}, which holds {exact:.0%} of the logits exactly"
    if found is None:
        return judged("accuracy.dtype-ran", held >= 0.5 or None, expected, f"no floor; {seen}")
    low = found["prompt"] < SUSPICIOUS
    # on the CPU this dtype's logits are all its own numbers, the candidate's are not
    foreign = exact < 0.5 and all(float(row.get("representable_floor", 0)) >= 0.99 for row in rows)
    return judged(
        "accuracy.dtype-ran",
        not low and not foreign and held >= 0.5,
        expected,
        f"{found['prompt']:.3g} of the floor's; {seen}",
        cause="suspiciously exact: the candidate most likely never ran in this dtype, but in a finer one",
        remedy="npukit verify --json   # measured.load.dtypes; then look for float() in the code",
    )


def _dtype_effect(rows: Sequence[Mapping[str, Any]], dtype: str) -> Check:
    expected = f"{dtype} on the CPU stays within {COARSE:.0%} of the reference"
    effect = pooled(rows, "dtype")
    if effect is None or math.isnan(effect):
        return judged("accuracy.dtype-effect", None, expected, "not measured" if effect is None else "NaN")
    return judged(
        "accuracy.dtype-effect",
        effect <= COARSE,
        expected,
        f"{effect:.4%}",
        cause="the dtype itself is too coarse, or overflows, for this model on any device",
        remedy="npukit accuracy --dtype bfloat16   # or float32",
    )


def _text(rows: Sequence[Mapping[str, Any]]) -> Check:
    """Where greedy answers part, a margin within the noise is a tie, and a tie is not an error."""
    expected = "the same greedy tokens, or a tie where they part"
    parted, errors, unknown = [], [], 0
    for row in rows:
        step = row["generation"]
        if step["first_difference"] is None:
            continue
        margin, noise = step["margin"], (row.get("generation_floor") or {}).get("max_abs")
        where = f"{row['prompt']} at token {step['first_difference']}"
        if margin is None:
            errors.append(f"{where}: one side ended")
        elif noise is None or math.isnan(float(noise)):
            unknown += 1
            parted.append(f"{where}, margin {float(margin):.3g}, noise unknown")
        elif float(margin) <= 2 * float(noise):
            parted.append(f"{where}, a tie: margin {float(margin):.3g}, noise {float(noise):.3g}")
        else:
            errors.append(f"{where}: margin {float(margin):.3g}, noise {float(noise):.3g}")
    same = len(rows) - len(parted) - len(errors)
    return judged(
        "accuracy.text",
        False if errors else None if unknown else True,
        expected,
        f"{same} of {len(rows)} the same{named(errors + parted, 3)}",
        cause="the reference was sure of its token there, by more than rounding explains",
        remedy=BISECT,
    )


def _limits(rows: Sequence[Mapping[str, Any]], limits: Mapping[str, float]) -> list[Check]:
    """What the recipe limits beside the floor."""
    cosine = _worst(rows, "cosine", least=True)
    last = _worst(rows, "last_cosine", least=True)
    l2 = _worst(rows, "relative_l2")
    least, most = limits["min_cosine"], limits["max_relative_l2"]
    checks = []
    if least:
        checks += [
            judged(
                id,
                seen >= least,
                f"at least {least:g}, {where}",
                f"{seen:.6f}",
                cause=_OFF,
                remedy=TELL_APART,
            )
            for id, seen, where in (
                ("accuracy.cosine", cosine, "all positions"),
                ("accuracy.last-cosine", last, "last position"),
            )
        ]
    if most:
        checks.append(
            judged(
                "accuracy.relative-l2",
                l2 <= most,
                f"at most {most:.2%}",
                f"{l2:.4%}",
                cause=_OFF,
                remedy=TELL_APART,
            )
        )
    return checks


_OFF = "the candidate computes something else than the reference, or its dtype is too coarse"


def _one_percent(rows: Sequence[Mapping[str, Any]], ours: bool | None) -> Check:
    l2, mean = _worst(rows, "relative_l2"), _worst(rows, "relative_mean")
    return _beside(
        "rule.one-percent",
        l2 < ONE_PERCENT and mean < ONE_PERCENT,
        ours,
        "relative L2 and mean error below 1 %, as published adaptations are judged",
        f"{l2:.4%} and {mean:.4%}",
    )


def _vendor(rows: Sequence[Mapping[str, Any]], ours: bool | None) -> Check:
    worst = [
        row["prompt"]
        for row in rows
        if vendor_fails(float(row["total"]["cosine"]), float(row["total"]["max_abs"]))
    ]
    return _beside(
        "rule.vendor",
        not worst,
        ours,
        "not: cosine < 0.99 and max abs > 0.001, cosine < 0.9, or max abs > 1 (msprobe)",
        f"cosine {_worst(rows, 'cosine', least=True):.6f}, max abs {_worst(rows, 'max_abs'):.4g}",
    )


def vendor_fails(cosine: float, max_abs: float) -> bool:
    """The rule of the vendor's comparison tool (msprobe)."""
    sound = not (cosine < 0.99 and max_abs > 0.001) and not cosine < 0.9 and not max_abs > 1
    return not sound or math.isnan(cosine) or math.isnan(max_abs)


def _beside(id: str, holds: bool, ours: bool | None, expected: str, seen: str) -> Check:
    """A fixed rule: where it fails although the noise floor passes, it is shown and does not decide."""
    if holds or not ours:
        return judged(
            id, holds if holds or ours is False else None, expected, seen, cause=_OFF, remedy=TELL_APART
        )
    return judged(id, None, expected, f"{seen}: outside the rule, as this dtype is on the CPU too")


def _worst(rows: Sequence[Mapping[str, Any]], metric: str, *, least: bool = False) -> float:
    values = [float(row["total"][metric]) for row in rows]
    if any(math.isnan(value) for value in values):
        return math.nan
    return min(values) if least else max(values)
