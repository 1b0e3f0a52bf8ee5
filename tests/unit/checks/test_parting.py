"""Which module is named, from made-up rows."""

from __future__ import annotations

from typing import Any

from npukit.checks.parting import curve, first_jump, first_wrong_operator, parting_check


def row(
    module: str, in_: Any, out: Any, floor_in: Any = 0.01, floor_out: Any = 0.01, call: int = 0
) -> dict[str, Any]:
    errors = {"in": in_, "out": out, "floor_in": floor_in, "floor_out": floor_out}
    return {"module": module, "kind": "Linear", "call": call, **errors}


SOUND = row("model.layers.0.mlp.up", 0.01, 0.012)
ROWS = [
    SOUND,
    row("model.layers.1.mlp.up", 0.012, 0.2),
    row("model.layers.1.mlp", 0.012, 0.2),
    row("model.layers.2.mlp.up", 0.2, 0.25),
]


def measured(rows: list[dict[str, Any]], replay: Any = None) -> dict[str, Any]:
    return {"parting": {"rows": rows, "replay": replay}, "candidate": {"dtype": "bfloat16"}}


def test_the_innermost_module_whose_inputs_were_sound() -> None:
    found = first_jump(ROWS, "bfloat16")
    assert found is not None
    assert found["module"] == "model.layers.1.mlp.up"
    assert first_jump([SOUND], "bfloat16") is None


def test_a_module_whose_dtype_is_rough_on_the_cpu_too_is_not_blamed() -> None:
    assert first_jump([row("softmax", 0.01, 0.2, floor_out=0.15)], "bfloat16") is None


def test_nan_and_inf_travel_as_texts() -> None:
    assert first_jump([row("m", 0.01, "inf")], "bfloat16") is not None
    assert first_jump([row("m", 0.01, "nan")], "bfloat16") is not None
    assert first_jump([row("m", "inf", "inf")], "bfloat16") is None


def test_without_a_floor_rounding_itself_is_the_floor() -> None:
    assert first_jump([row("m", 0.0, 1e-7, None, None)], "float32") is None
    assert first_jump([row("m", 0.0, 1e-3, None, None)], "float32") is not None


def test_the_operator() -> None:
    rows = [{"operator": "aten.mm", "error": 0.003}, {"operator": "npu.x", "error": None}]
    assert first_wrong_operator(rows, "bfloat16") is None
    assert first_wrong_operator([*rows, {"operator": "aten.exp", "error": "nan"}], "bfloat16") is not None


def test_the_check() -> None:
    assert parting_check({"candidate": {"dtype": "bfloat16"}}).passed is None
    assert parting_check(measured([SOUND])).passed is True
    wrong = {"unavailable": "", "alone": 0.2, "operators": [{"operator": "aten.mm", "error": 0.2}]}
    check = parting_check(measured(ROWS, wrong))
    assert check.passed is False
    assert "model.layers.1.mlp.up" in check.observed
    assert "aten.mm is 0.2" in check.cause
    code = {**wrong, "operators": [{"operator": "aten.mm", "error": 0.002}]}
    assert "its code differs" in parting_check(measured(ROWS, code)).cause
    assert "could not be run alone (why)" in parting_check(measured(ROWS, {"unavailable": "why"})).cause


def test_the_curve_is_of_layers_in_the_first_pass() -> None:
    rows = [
        row("model.layers.0", 0, 1),
        row("model.layers.0.mlp", 0, 1),
        row("model.layers.0", 0, 1, call=1),
        row("transformer.h.3", 0, 1),
        row("vision.encoder.layers.2", 0, 1),
    ]
    assert [one["module"] for one in curve(rows)] == [
        "model.layers.0",
        "transformer.h.3",
        "vision.encoder.layers.2",
    ]
