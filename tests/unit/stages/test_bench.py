"""What bench's record says to a person, and that an emulator's speed is never shown as a card's."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from npukit.recipe import recipe_from
from npukit.results import StageResult
from npukit.stages.bench import Bench
from tests.unit.test_performance import measured as samples
from tests.unit.test_recipe import SMALL

MEMORY = {
    "peak_allocated_bytes": 2_000_000,
    "peak_reserved_bytes": None,
    "used_bytes": 3_000_000,
    "host_rss_bytes": 4_000_000,
}
PHASES = {"prepare_ms": 1.0, "vision_ms": 0.0, "prefill_ms": 99.0, "decode_ms": 100.0, "detokenise_ms": 0.1}


@pytest.fixture
def result() -> StageResult:
    measured: dict[str, Any] = samples(
        load={"parameters": 5 * 10**7, "load_s": 1.0, "accelerations": []},
        memory={"loaded": MEMORY, "rounds": MEMORY},
        conditions={"dtype": "float32", "prompt": "a", "batch": 1},
        prompt_tokens=5,
        new_tokens=11,
        warmup=[],
        sustained=None,
    )
    for row in measured["rounds"]:
        row.update(PHASES, ttft_ms=row["token_ms"][0])
    return StageResult("bench", "m", "npu:0", "k", {}, {}, measured, "2026-01-01T00:00:00+00:00", 1.0, "0")


def checks(result: StageResult, **limits: Any) -> dict[str, bool | None]:
    recipe = recipe_from({**SMALL, "bench": limits})
    return {check.id: check.passed for check in Bench().judge(recipe, result)}


def test_limits_judge(result: StageResult) -> None:
    assert checks(result)["bench.tokens-per-s"] is None
    assert checks(result, min_tokens_per_s=54.0)["bench.tokens-per-s"] is True
    assert checks(result, min_tokens_per_s=56.0)["bench.tokens-per-s"] is False
    assert checks(result, max_peak_bytes=2_000_000)["bench.peak-memory"] is True
    assert checks(result, max_peak_bytes=1_999_999)["bench.peak-memory"] is False


def test_rounds_of_other_lengths_fail(result: StageResult) -> None:
    result.measured["rounds"][3]["tokens"] = 10
    assert checks(result)["bench.fixed-length"] is False


def test_figures_carry_their_conditions(result: StageResult) -> None:
    figures = dict(Bench().figures(result))
    assert "float32" in figures["conditions"]
    assert "rounds 20" in figures["conditions"]
    assert figures["decode"].startswith("100.00 tokens/s")
    assert "peak allocated 2.0 MB" in figures["memory"]
    assert "host resident 4.0 MB" in figures["memory"]


def test_an_emulators_speed_is_not_shown(result: StageResult) -> None:
    emulated = dataclasses.replace(result, emulated=True)
    text = " ".join(value for _, value in Bench().figures(emulated))
    assert "tokens/s" not in text
    assert " MB" not in text
    assert "200 a token" in text
    assert checks(emulated, min_tokens_per_s=1e9, max_peak_bytes=1) == {
        "bench.fixed-length": True,
        "bench.tokens-per-s": None,
        "bench.peak-memory": None,
    }
