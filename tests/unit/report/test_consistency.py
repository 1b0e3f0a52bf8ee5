"""Every planted contradiction is named; figures that agree are let through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from npukit.report.consistency import contradictions
from tests.unit.report.sample import WEIGHTS, accuracy_measured, bench_measured, evidence, result

Damage = Callable[[dict[str, Any]], object]


def test_figures_that_agree_are_let_through() -> None:
    sound = evidence(result("bench", bench_measured()), result("accuracy", accuracy_measured()))
    assert contradictions(sound) == []


BENCH: list[tuple[Damage, str]] = [
    (lambda m: m["rounds"][1].update(tokens=9), "9 tokens, and 4 times of tokens"),
    (lambda m: m["rounds"][0].update(token_ms=[20, 19, 30, 35]), "before the one it follows"),
    (lambda m: m["rounds"][0].update(total_ms=9.0), "the phases take 36.50 ms, and the whole 9.00 ms"),
    (lambda m: m["rounds"][0].update(ttft_ms=900.0), "the first token took 900.00 ms"),
    (lambda m: m["rounds"][0].update(total_ms=9000.0), "the rounds took"),
    (lambda m: m["rounds"][0].update(decode_ms=1.0), "tokens/s in decoding"),
    (lambda m: m["conditions"].update(rounds=2), "2 rounds were asked for, and 5 are there"),
    (
        lambda m: m["conditions"].update(dtype="bfloat16"),
        "bfloat16 was asked for, and the parameters are float16",
    ),
    (lambda m: m["load"].update(parameters=2000), "2,000 parameters, and 1,000 by dtype"),
    (lambda m: m["load"].update(parameters=9000, dtypes={"float16": 9000}), "the weights alone are"),
    (lambda m: m["memory"]["rounds"].update(total_bytes=10), "bytes allocated of 10"),
    (lambda m: m["device"].update(device="cpu"), "the worker computed on cpu"),
    (
        lambda m: m["device"].update(name="Ascend310P3"),
        "npu-smi tells of 910B3, and torch_npu of Ascend310P3",
    ),
    (lambda m: m["device"].update(cann="8.1.0"), "CANN 8.5.1 on disk, and 8.1.0 in the process"),
]


@pytest.mark.parametrize(("damage", "said"), BENCH, ids=[said for _, said in BENCH])
def test_a_contradiction_within_bench_is_named(damage: Damage, said: str) -> None:
    measured = bench_measured()
    damage(measured)
    assert any(said in fault for fault in contradictions(evidence(result("bench", measured))))


ACCURACY: list[tuple[dict[str, float], str]] = [
    ({"cosine": 1.5}, "a cosine of 1.5"),
    ({"cosine": 0.9}, "a cosine of 0.900000 means a relative L2 error above 0.02"),
    ({"mean_abs": 0.9}, "the mean error 0.9 is above the largest 0.5"),
]


@pytest.mark.parametrize(("figures", "said"), ACCURACY)
def test_a_contradiction_within_accuracy_is_named(figures: dict[str, float], said: str) -> None:
    measured = accuracy_measured()
    measured["prompts"][0]["total"].update(figures)
    assert any(said in fault for fault in contradictions(evidence(result("accuracy", measured))))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"inputs": {"stage": "accuracy/1", "weights": "cd" * 32}},
            "accuracy is of other weights than fetch proved",
        ),
        ({"environment": {"torch": "2.8.0", "chip": "910B3"}}, "torch is 2.8.0 and 2.9.0"),
        ({"emulated": True}, "some stages were emulated, and some were not"),
    ],
)
def test_a_contradiction_between_stages_is_named(changes: dict[str, Any], said: str) -> None:
    fetch = result("fetch", {"digest": WEIGHTS}, device="host", inputs={"stage": "fetch/1"})
    results = [fetch, result("bench", bench_measured()), result("accuracy", accuracy_measured(), **changes)]
    assert said in contradictions(evidence(*results))


@pytest.mark.parametrize("name", ["Ascend910B3", "910B3", "Ascend910B3_9362"])
def test_one_chip_has_several_names(name: str) -> None:
    measured = bench_measured()
    measured["device"]["name"] = name
    assert contradictions(evidence(result("bench", measured))) == []
