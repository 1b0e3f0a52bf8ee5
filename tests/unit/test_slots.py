"""A checkpoint's names against a model's: what is missing, and the likely cause."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.slots import Slot, likely_causes, match, pattern_of, words

MODEL = {
    "model.embed.weight": Slot((10, 4), "F32"),
    **{f"model.layers.{i}.mlp.up.weight": Slot((8, 4), "F32") for i in range(3)},
    **{f"model.layers.{i}.mlp.down.weight": Slot((4, 8), "F32") for i in range(3)},
    "lm_head.weight": Slot((10, 4), "F32"),
}


def compared(file: dict[str, Slot], landing: dict[str, tuple[str, ...]] | None = None, **more: Any) -> Any:
    return match(file, MODEL, landing or {}, **more)


def changed(edit: Any) -> dict[str, Slot]:
    return {edit(name): slot for name, slot in MODEL.items()}


def test_a_whole_checkpoint() -> None:
    found = compared(MODEL)
    assert found["landed"] == len(MODEL) == found["model_tensors"] == found["file_tensors"]
    assert (found["missing"], found["unexpected"], found["mismatched"]) == ([], [], [])
    assert likely_causes(found) == []


def test_a_tied_head_need_not_be_there() -> None:
    file = {name: slot for name, slot in MODEL.items() if name != "lm_head.weight"}
    assert compared(file)["missing"][0]["pattern"] == "lm_head.weight"
    assert "tied" in likely_causes(compared(file))[0]
    tie = frozenset({"model.embed.weight", "lm_head.weight"})
    assert compared(file, ties=[tie])["missing"] == []


@pytest.mark.parametrize(
    ("file", "cause"),
    [
        (changed(lambda name: f"model.{name}"), "a prefix too many: 'model'"),
        (changed(lambda name: name.removeprefix("model.")), "a prefix too few: 'model'"),
        (changed(lambda name: name.replace("mlp.up", "mlp.w1")), "model.layers.*.mlp.w1.weight → "),
        ({**MODEL, "model.layers.3.mlp.up.weight": Slot((8, 4), "F32")}, "more layers"),
        ({k: v for k, v in MODEL.items() if ".2." not in k}, "fewer layers"),
        ({**MODEL, "model.layers.0.mlp.up.qweight": Slot((1, 4), "I32")}, "quantized"),
        ({**MODEL, "model.layers.0.mlp.up.weight": Slot((4, 8), "F32")}, "transposed"),
        ({**MODEL, "model.embed.weight": Slot((12, 4), "F32")}, "12 entries in the file and 10"),
        ({**MODEL, "model.layers.0.mlp.up.weight": Slot((9, 4), "F32")}, "a dimension in config.json"),
    ],
)
def test_causes(file: dict[str, Slot], cause: str) -> None:
    causes = likely_causes(compared(file))
    assert cause in causes[0], causes


def test_names_are_grouped() -> None:
    found = compared(changed(lambda name: name.replace("mlp.up", "mlp.w1")))
    assert words(found["missing"]) == "model.layers.*.mlp.up.weight ×3"
    assert words(found["unexpected"]) == "model.layers.*.mlp.w1.weight ×3"


def test_merged_and_split_tensors() -> None:
    model = {"experts.up": Slot((2, 8, 4), "F32"), "q": Slot((2, 4), "F32"), "k": Slot((2, 4), "F32")}
    file = {
        "experts.0.up": Slot((8, 4), "F32"),
        "experts.1.up": Slot((8, 4), "F32"),
        "qk": Slot((4, 4), "F32"),
    }
    landing = {"experts.0.up": ("experts.up",), "experts.1.up": ("experts.up",), "qk": ("q", "k")}
    found = match(file, model, landing)
    assert (found["landed"], found["missing"], found["mismatched"]) == (3, [], [])
    del file["experts.1.up"]
    found = match({**file, "experts.0.up": Slot((8, 3), "F32")}, model, landing)
    assert found["mismatched"][0]["wanted"] == (2, 8, 4)


@given(st.sets(st.sampled_from(sorted(MODEL))))
def test_every_absent_name_is_counted(absent: set[str]) -> None:
    found = compared({name: slot for name, slot in MODEL.items() if name not in absent})
    assert sum(row["count"] for row in found["missing"]) == len(absent)
    assert found["landed"] == len(MODEL) - len(absent)


def test_patterns() -> None:
    assert pattern_of("model.layers.12.experts.3.w1.weight") == "model.layers.*.experts.*.w1.weight"
    assert pattern_of("h2o.conv1d.weight") == "h2o.conv1d.weight"
