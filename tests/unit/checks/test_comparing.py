"""The verdict by the noise floor, from made-up measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from npukit.checks.comparing import accuracy_checks, pooled, vendor_fails
from npukit.recipe import Accuracy, Prompt, Recipe, Source
from npukit.results import Check

RECIPE = Recipe(
    name="m", title="m", task="text-generation", source=Source(order=("local",)), prompts=(Prompt("p", "?"),)
)


def part(error: float, **more: Any) -> dict[str, Any]:
    figures = {"relative_l2": error, "relative_mean": error, "cosine": 1 - error**2, "max_abs": error}
    return {**figures, "last_cosine": 1 - error**2, **more}


def row(error: float, floor: float | None, **more: Any) -> dict[str, Any]:
    whole = {
        "prompt": "p",
        "total": part(error),
        "generation": {**part(error), "first_difference": None, "margin": None},
        "representable": 1.0,
        "unfinite": {"reference": 0, "candidate": 0},
        **(
            {}
            if floor is None
            else {"dtype": part(floor), "generation_floor": part(floor), "device": part(error)}
        ),
    }
    return {**whole, **more}


def verdicts(
    *rows: dict[str, Any], dtype: str = "bfloat16", recipe: Recipe = RECIPE, **more: Any
) -> Mapping[str, Check]:
    candidate = {"dtype": dtype, "parameters": {dtype: 10}, "missing": 0, **more}
    floor = {"how": "it"} if "dtype" in rows[0] else None
    measured = {"prompts": list(rows), "candidate": candidate, "floor": floor}
    return {check.id: check for check in accuracy_checks(recipe, measured)}


@pytest.mark.parametrize(
    ("error", "floor", "passed"),
    [
        (0.02, 0.02, True),
        (0.0399, 0.02, True),
        (0.06, 0.02, None),  # neither well inside nor well outside
        (0.09, 0.02, False),
        (math.nan, 0.02, False),
        (math.inf, 0.02, False),
        (0.02, math.nan, None),
        (0.02, math.inf, None),
        (0.02, None, None),
    ],
)
def test_the_floor_decides(error: float, floor: float | None, passed: bool | None) -> None:
    check = verdicts(row(error, floor))["accuracy.noise-floor"]
    assert check.passed is passed
    assert bool(check.cause and check.remedy) == (passed is False)
    if passed is None:
        assert "undecided" in check.observed


def test_one_bad_prompt_among_good_ones_is_seen() -> None:
    rows = [row(0.02, 0.02) for _ in range(20)] + [row(0.1, 0.02)]
    assert verdicts(*rows)["accuracy.noise-floor"].passed is False


def test_answers_have_a_floor_of_their_own() -> None:
    drifting = row(0.02, 0.02)
    drifting["generation"]["relative_l2"] = 0.2
    assert verdicts(drifting)["accuracy.noise-floor"].passed is False


@pytest.mark.parametrize(("dtype", "error", "passed"), [("float32", 3e-7, True), ("float32", 1e-3, False)])
def test_a_float32_floor_is_never_nought(dtype: str, error: float, passed: bool) -> None:
    assert verdicts(row(error, 0.0), dtype=dtype)["accuracy.noise-floor"].passed is passed


def test_an_error_far_below_the_dtype_s_is_suspicious() -> None:
    check = verdicts(row(0.0001, 0.02, representable=0.01))["accuracy.dtype-ran"]
    assert check.passed is False
    assert "never ran in this dtype" in check.cause
    assert verdicts(row(0.015, 0.02))["accuracy.dtype-ran"].passed is True
    assert verdicts(row(1e-9, 1e-7), dtype="float32")["accuracy.dtype-ran"].passed is None
    held = verdicts(row(0.02, 0.02), parameters={"float32": 10})["accuracy.dtype-ran"]
    assert held.passed is False


def test_published_rules_stand_beside_and_do_not_decide() -> None:
    sound = verdicts(row(0.03, 0.025, total=part(0.03, max_abs=1.3)))
    assert sound["accuracy.noise-floor"].passed is True
    assert sound["rule.one-percent"].passed is None
    assert sound["rule.vendor"].passed is None
    broken = verdicts(row(0.5, 0.025))
    assert broken["rule.one-percent"].passed is False
    assert verdicts(row(0.002, 0.003))["rule.one-percent"].passed is True


@pytest.mark.parametrize(
    ("cosine", "max_abs", "fails"),
    [
        (0.995, 0.5, False),
        (0.98, 0.0005, False),
        (0.98, 0.01, True),
        (0.89, 0.0, True),
        (1.0, 1.01, True),
        (math.nan, 0.0, True),
        (1.0, math.nan, True),
    ],
)
def test_the_vendor_s_rule(cosine: float, max_abs: float, fails: bool) -> None:
    assert vendor_fails(cosine, max_abs) is fails


def generation(margin: float | None, at: int | None = 3) -> dict[str, Any]:
    return {**part(0.02), "first_difference": at, "margin": margin}


@pytest.mark.parametrize(
    ("step", "floor", "passed"),
    [
        (generation(None, None), 0.02, True),
        (generation(0.03), 0.02, True),  # a tie: the reference itself hardly cared
        (generation(0.5), 0.02, False),
        (generation(0.5), None, None),
        (generation(None), 0.02, False),  # one side ended
    ],
)
def test_where_answers_part_a_tie_is_no_error(
    step: dict[str, Any], floor: float | None, passed: bool | None
) -> None:
    check = verdicts(row(0.02, floor, generation=step))["accuracy.text"]
    assert check.passed is passed


def test_nan_and_random_weights_fail_whatever_the_floor() -> None:
    bad = row(math.nan, math.nan, unfinite={"reference": 0, "candidate": 7})
    assert verdicts(bad)["accuracy.finite"].passed is False
    assert verdicts(row(0.01, 0.02), missing=3)["accuracy.loaded"].passed is False


def test_a_dtype_that_does_not_carry_the_model() -> None:
    assert verdicts(row(0.4, 0.4))["accuracy.dtype-effect"].passed is False
    assert verdicts(row(0.4, math.nan))["accuracy.dtype-effect"].passed is None


def test_a_recipe_s_limits_judge_beside_the_floor() -> None:
    import dataclasses

    strict = dataclasses.replace(
        RECIPE, accuracy=Accuracy(min_cosine=0.9999, bfloat16={"max_relative_l2": 0.01})
    )
    found = verdicts(row(0.02, 0.02), recipe=strict)
    assert found["accuracy.cosine"].passed is False
    assert found["accuracy.relative-l2"].passed is False
    assert "accuracy.cosine" not in verdicts(row(0.02, 0.02))


def test_pooled_is_a_root_mean_square() -> None:
    assert pooled([row(3.0, None), row(4.0, None)], "total") == pytest.approx(math.sqrt(12.5))
    assert pooled([row(3.0, None)], "device") is None
