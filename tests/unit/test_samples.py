"""Statistics equal the standard library's and numpy's definitions."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.samples import summarise

numbers = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)


@given(st.lists(numbers, min_size=2, max_size=60))
def test_against_the_standard_library(samples: list[float]) -> None:
    summary = summarise(samples)
    assert summary.n == len(samples)
    assert summary.min == min(samples)
    assert summary.max == max(samples)
    assert summary.p50 == pytest.approx(statistics.median(samples))
    assert summary.mean == pytest.approx(statistics.fmean(samples))
    assert summary.stdev == pytest.approx(statistics.stdev(samples))
    cuts = statistics.quantiles(samples, n=20, method="inclusive")
    assert summary.p90 == pytest.approx(cuts[17])
    assert summary.p95 == pytest.approx(cuts[18])
    middle = statistics.median(samples)
    assert summary.mad == pytest.approx(statistics.median([abs(s - middle) for s in samples]), abs=1e-9)
    assert summary.min <= summary.p50 <= summary.p90 <= summary.p95 <= summary.max


def test_one_sample_and_none() -> None:
    assert summarise([3.0]).stdev == 0.0
    assert summarise([3.0]).p95 == 3.0
    with pytest.raises(ValueError, match="no samples"):
        summarise([])
