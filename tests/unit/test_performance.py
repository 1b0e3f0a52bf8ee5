"""Bench's samples read right: rates, shares, what bounds, and when to doubt."""

from __future__ import annotations

from typing import Any

import pytest

from npukit.performance import bound, decode_tokens_per_s, sustained_rates, tokens_per_s, warnings


def measured(rounds: int = 20, token_ms: float = 10.0, **changes: Any) -> dict[str, Any]:
    """Every round: 100 ms to the first token, then one every ``token_ms``, 11 tokens."""
    times = [100 + token_ms * i for i in range(11)]
    row = {"tokens": 11, "total_ms": times[-1], "token_ms": times}
    return {
        "rounds": [dict(row) for _ in range(rounds)],
        "dispatches": {"mm": 100, "add": 100},
        "decode_bytes": 10**8,
        "load": {"parameters": 5 * 10**7},
        "limits": {"read_bytes_per_s": 2e10, "matmul_flop_per_s": 1e12, "copy_bytes_per_s": 2e10},
        "load_average": {"before": 0.1, "cores": 2},
        "conditions": {"batch": 1},
        "sustained": {"token_ms": [float(i) for i in range(100)]},
        **changes,
    }


def test_rates() -> None:
    assert decode_tokens_per_s(measured()) == pytest.approx(100)
    assert tokens_per_s(measured()) == pytest.approx(11 / 0.2)


@pytest.mark.parametrize(
    ("changes", "by"),
    [
        ({}, "host"),
        ({"decode_bytes": 13 * 10**7}, "memory"),
        ({"limits": {"read_bytes_per_s": 2e10, "matmul_flop_per_s": 1.2e10}}, "compute"),
    ],
)
def test_what_bounds(changes: dict[str, Any], by: str) -> None:
    seen = bound(measured(**changes))
    assert seen.by == by
    assert seen.dispatches == 200
    assert seen.dispatch_us == pytest.approx(50)
    assert seen.advice


def test_no_warning_without_a_reason() -> None:
    assert warnings(measured()) == []


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (measured(rounds=5), "p95 of 5 rounds"),
        (measured(load_average={"before": 3.0, "cores": 2}), "busy"),
    ],
)
def test_reasons_to_doubt(given: dict[str, Any], word: str) -> None:
    assert [word in text for text in warnings(given)] == [True]


def test_drift() -> None:
    slowing = measured()
    for index, row in enumerate(slowing["rounds"]):
        row["total_ms"] += 10 * index
    assert "drifted" in warnings(slowing)[0]


def test_the_parts_of_a_sustained_run() -> None:
    assert sustained_rates(measured()) == pytest.approx([1000.0] * 5)
