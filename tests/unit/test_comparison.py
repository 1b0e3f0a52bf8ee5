"""What got worse is told from what only moved."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.comparison import Reading, change, compare, significance
from npukit.results import Judged
from tests.unit.report.sample import accuracy_measured, bench_measured, judged, result

SAMPLES = st.lists(st.floats(0.1, 1e4), min_size=4, max_size=12)


def bench(factor: float) -> Judged:
    measured = bench_measured()
    for row in measured["rounds"]:
        for name in ("total_ms", "ttft_ms", "decode_ms"):
            row[name] *= factor
    return judged(result("bench", measured))


def test_the_same_is_not_worse() -> None:
    (stage,) = compare([bench(1)], [bench(1)])
    assert not stage.worse
    assert stage.environment == ()
    assert {figure.ratio for figure in stage.figures} == {1.0}


def test_slower_beyond_noise_is_worse_and_faster_is_not() -> None:
    (slower,) = compare([bench(1)], [bench(3)])
    (faster,) = compare([bench(3)], [bench(1)])
    assert {figure.name for figure in slower.figures if figure.worse} == {
        "latency ms", "first token ms", "decode tokens/s",
    }  # fmt: skip
    assert not faster.worse


def test_what_noise_explains_is_not_worse() -> None:
    old, new = (10.0, 30.0, 11.0, 29.0, 12.0), (10.5, 31.0, 15.0, 28.0, 12.5)
    moved = change(Reading("ms", 12.0, samples=old), Reading("ms", 15.0, samples=new), 0.1)
    assert moved.p is not None and moved.p > 0.05
    assert not moved.worse


def test_without_rounds_the_limit_alone_judges() -> None:
    moved = change(Reading("peak MB", 100.0), Reading("peak MB", 120.0), 0.1)
    assert moved.p is None
    assert moved.worse
    assert not change(Reading("peak MB", 100.0), Reading("peak MB", 109.0), 0.1).worse


def test_an_error_that_became_nan_is_worse() -> None:
    measured = accuracy_measured()
    measured["prompts"][0]["total"]["relative_l2"] = "nan"
    (stage,) = compare(
        [judged(result("accuracy", accuracy_measured()))], [judged(result("accuracy", measured))]
    )
    assert stage.worse


def test_a_check_that_fails_now_is_worse_and_named() -> None:
    now = judged(result("bench", bench_measured()), passed=False)
    (stage,) = compare([bench(1)], [now])
    assert stage.checks == (("bench.check", "pass", "fail"),)
    assert stage.verdict == ("pass", "fail")
    assert stage.worse


def test_the_environment_that_changed_is_told() -> None:
    other = bench(1)
    moved = dataclasses.replace(
        other.result, inputs={**other.result.inputs, "environment.cann": "8.2"}, npukit="0.2.0"
    )
    (stage,) = compare([bench(1)], [dataclasses.replace(other, result=moved)])
    assert stage.environment == ("environment.cann 8.2 is new", "npukit 0.1.0 → 0.2.0")


def test_answers_that_changed_are_told() -> None:
    sides = [
        judged(result("verify", {"answers": [{"prompt": "hello", "text": text}]}))
        for text in ("hello", "bye")
    ]
    (stage,) = compare(sides[:1], sides[1:])
    assert stage.answers == (("hello", "hello", "bye"),)


@given(SAMPLES, SAMPLES)
def test_significance_is_a_probability_and_symmetric(left: list[float], right: list[float]) -> None:
    p = significance(left, right)
    assert p is not None
    assert 0 <= p <= 1
    assert significance(right, left) == pytest.approx(p)
    assert significance(left, left) == pytest.approx(1.0)


def test_significance_needs_rounds_and_finds_what_is_apart() -> None:
    assert significance([1, 2, 3], [4, 5, 6]) is None
    apart = significance([1, 2, 3, 4, 5], [11, 12, 13, 14, 15])
    assert apart is not None and apart == pytest.approx(0.0122, abs=0.001)  # R: wilcox.test(exact = FALSE)
