"""The interval of a ratio holds the truth, the verdict follows it, and unlike conditions are named."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npukit.rounds import BETWEEN_RUNS, differing, ratio, round_ms
from tests.unit.test_performance import measured

times = st.lists(st.floats(1.0, 1e4), min_size=1, max_size=30)


def noisy(middle_ms: float, seed: int, rounds: int = 20) -> list[float]:
    chance = random.Random(seed)
    return [middle_ms * chance.uniform(0.97, 1.03) for _ in range(rounds)]


@settings(max_examples=25, deadline=None)  # each draws thousands of times
@given(times, times)
def test_the_interval_is_around_the_ratio_of_its_pairs(first: list[float], second: list[float]) -> None:
    seen = ratio(first, second)
    assert 0 < seen.low <= seen.high
    assert seen.pairs == min(len(first), len(second))
    assert seen.to_json() == ratio(first, second).to_json()  # the same seed, the same interval


@settings(max_examples=25, deadline=None)  # each draws thousands of times
@given(times)
def test_a_run_against_itself_is_no_difference(first: list[float]) -> None:
    seen = ratio(first, first)
    assert seen.ratio == 1
    assert seen.low == pytest.approx(1 / (1 + BETWEEN_RUNS))
    assert seen.verdict == "no difference seen"


@pytest.mark.parametrize(
    ("second_ms", "verdict"),
    [
        (80.0, "faster"),
        (125.0, "slower"),
        (100.0, "no difference seen"),
        (102.0, "no difference seen"),
    ],
)
def test_verdicts(second_ms: float, verdict: str) -> None:
    seen = ratio(noisy(100.0, 1), noisy(second_ms, 2))
    assert seen.low < 100.0 / second_ms < seen.high
    assert seen.verdict == verdict


def test_the_true_ratio_is_inside_at_least_as_often_as_stated() -> None:
    inside = 0
    for seed in range(40):
        seen = ratio(noisy(100.0, seed), noisy(100.0, 1000 + seed))
        inside += seen.low <= 1 <= seen.high
    assert inside >= 38


def test_no_rounds() -> None:
    with pytest.raises(ValueError, match="no rounds"):
        ratio([], [1.0])


def test_the_extent_of_a_measurement_is_no_condition() -> None:
    first = {"rounds": "3", "warmup": "1", "load.dtype": "float32"}
    assert differing(first, {**first, "rounds": "20", "seconds": "5"}) == []
    assert differing(first, {**first, "load.dtype": "bfloat16"}) == ["load.dtype float32 → bfloat16"]


def test_a_batch_shares_its_time() -> None:
    alone, together = measured(rounds=1), measured(rounds=1, conditions={"batch": 4})
    for one in (alone, together):
        one["rounds"][0].update(ttft_ms=100.0, decode_ms=100.0)
    assert round_ms(together)["decode"] == [round_ms(alone)["decode"][0] / 4]
    assert round_ms(together)["end to end"] == [round_ms(alone)["end to end"][0] / 4]
    assert round_ms(together)["first token"] == round_ms(alone)["first token"]
