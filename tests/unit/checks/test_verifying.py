"""verify's checks, from made-up measurements: each fails for its fault, with a cause and a next step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from npukit.checks.answering import answer_checks, quality_checks, repeat_checks
from npukit.checks.kernels import kernel_check
from npukit.checks.loading import config_checks, load_checks
from npukit.checks.numbers import number_checks
from npukit.checks.wording import image_checks, word_checks
from npukit.recipe import Prompt, Recipe, Source, Verify
from npukit.results import Check

SOURCE = Source(order=("local",))
ASKED = Recipe("m", "m", "text-generation", SOURCE, (Prompt("cats", "?", expect=("two", "cats")),))
UNASKED = Recipe("m", "m", "text-generation", SOURCE, (Prompt("p", "?"),))
CLEAN_COUNT = {"nan": 0, "inf": 0, "saturated": 0, "max_abs": 9.0}
KNOWN = {
    "loss": 3.0,
    "perplexity": 20.0,
    "shuffled_loss": 6.0,
    "control_loss": 10.0,
    "entropy": 3.0,
    "uniform_entropy": 10.0,
}
SOUND: dict[str, Any] = {
    "headers": {
        "file_tensors": 3, "model_tensors": 3, "landed": 3, "missing": [], "unexpected": [], "mismatched": [],
    },
    "load": {"missing": [], "unexpected": [], "mismatched": []},
    "values": {"compared": 3, "rebuilt": 0, "different": [], "initial": [], "constant": []},
    "config": {
        "checked": 2, "lost": [], "unread": [], "landed": {"a": {"layers": ["x", "x", "y"], "theta": 1e7}},
    },
    "answers": [{"prompt": "cats", "text": "Two cats.", "token_ids": [1, 2], "repetition": 0.0}],
    "control": [{"prompt": "cats", "text": "zzz", "token_ids": [9], "repetition": 0.0}],
    "repeat": [[1, 2]],
    "fresh_process": [[1, 2]],
    "quality": {"english": dict(KNOWN), "chinese": {**KNOWN, "loss": 9.9}},
    "words": {
        "tokens": 300, "embedding_rows": 320, "largest_id": 299,
        "round_trips": {"english": {"text": "a b", "back": " a b", "unknown": 0}},
        "template": {
            "holds_message": True, "opens_turn": True, "back_the_same": True, "split_marks": [],
            "bos_twice": False,
        },
        "special": {"eos": [1], "tokenizer_eos": 1, "pad": 0, "image_token": None},
    },
    "image_tokens": [{"mode": "4x", "shape": "wide", "tokens": 64, "features": 64}],
    "logits": dict(CLEAN_COUNT),
    "layers": [{"module": "layers.0", "kind": "Mlp", **CLEAN_COUNT}],
    "attention": {"own": "sdpa", "other": "eager", "max_abs": 1e-6, "relative_l2": 1e-7},
    "hf32": {"max_abs": 1.07, "relative_l2": 1e-3, "in_force_max_abs": 0.0},
    "kernels": {"torch_npu": "2.9.0", "operators": 80, "fallbacks": {}},
}  # fmt: skip
WANTED = {"a.layers": {"x": 2, "y": 1}, "a.theta": 1e7}


def judge(measured: dict[str, Any], recipe: Recipe = UNASKED) -> dict[str, Check]:
    checks = [
        *load_checks(measured),
        *config_checks(measured["config"], WANTED),
        *answer_checks(recipe, measured),
        *quality_checks(recipe, measured["quality"]),
        *repeat_checks(measured),
        *word_checks(measured["words"]),
        *image_checks(measured["image_tokens"]),
        *number_checks(measured, "float32"),
        kernel_check(measured["kernels"], recipe.verify.max_fallbacks),
    ]
    assert len({check.id for check in checks}) == len(checks)
    return {check.id: check for check in checks}


@pytest.mark.parametrize("recipe", [ASKED, UNASKED])
def test_a_sound_measurement_passes(recipe: Recipe) -> None:
    assert [check.id for check in judge(SOUND, recipe).values() if check.passed is False] == []


def set_to(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def edit(measured: dict[str, Any]) -> None:
        *outer, last = path.split("/")
        place: Any = measured
        for step in outer:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[int(last) if isinstance(place, list) else last] = value

    return edit


GROUP = {
    "pattern": "w",
    "count": 1,
    "example": "w",
    "shape": (2,),
    "dtype": "F32",
    "known": False,
    "wanted": (),
}
FAULTS = [
    (set_to("headers/missing", [GROUP]), "headers.missing"),
    (set_to("headers/unexpected", [GROUP]), "load.agrees"),
    (set_to("load/mismatched", ["w"]), "load.mismatched"),
    (set_to("values/different", ["w"]), "load.values"),
    (set_to("values/initial", ["w"]), "load.initial"),
    (set_to("values/constant", ["w"]), "load.constant"),
    (set_to("config/lost", [{"key": "k", "written": 1, "landed": None}]), "config.landed"),
    (set_to("config/landed/a/theta", 1e4), "config.wanted"),
    (set_to("config/landed/a/layers", ["x", "y", "y"]), "config.wanted"),
    (set_to("answers/0/repetition", 0.95), "answers.repetition"),
    (set_to("answers/0/repetition", "nan"), "answers.repetition"),
    (set_to("quality/english/loss", 9.0), "quality.known"),
    (set_to("quality/english/shuffled_loss", 3.1), "quality.known"),
    (set_to("quality/english/loss", "nan"), "quality.known"),
    (set_to("quality", {"english": {**KNOWN, "entropy": 9.9}}), "quality.entropy"),
    (set_to("quality", {"english": {**KNOWN, "entropy": "nan"}}), "quality.entropy"),
    (set_to("repeat", [[1, 3]]), "repeat.same-process"),
    (set_to("fresh_process", [[1, 3]]), "repeat.fresh-process"),
    (set_to("words/tokens", 100), "tokenizer.fits"),
    (set_to("words/tokens", 321), "tokenizer.fits"),
    (set_to("words/largest_id", 320), "tokenizer.fits"),
    (set_to("words/round_trips/english/back", "A b"), "tokenizer.round-trip"),
    (set_to("words/round_trips/english/unknown", 1), "tokenizer.round-trip"),
    (set_to("words/template/holds_message", False), "template"),
    (set_to("words/template/opens_turn", False), "template"),
    (set_to("words/template/back_the_same", False), "template"),
    (set_to("words/template/split_marks", ["<|im_start|>"]), "template"),
    (set_to("words/template/bos_twice", True), "template"),
    (set_to("words/special/pad", 320), "special.in-range"),
    (set_to("words/special/eos", []), "special.eos"),
    (set_to("words/special/tokenizer_eos", 5), "special.eos"),
    (set_to("image_tokens/0/features", 16), "images.tokens"),
    (set_to("logits/nan", 1), "logits.finite"),
    (set_to("logits/saturated", 1), "logits.finite"),
    (set_to("layers/0/inf", 1), "layers.finite"),
    (set_to("attention/relative_l2", 0.5), "attention.agrees"),
    (set_to("attention/relative_l2", "nan"), "attention.agrees"),
    (set_to("hf32/in_force_max_abs", 1.07), "precision.hf32"),
    (set_to("kernels/fallbacks", {"aten::histc": 6}), "operators.kernels"),
]


@pytest.mark.parametrize(("plant", "check"), FAULTS, ids=[f"{n}-{row[1]}" for n, row in enumerate(FAULTS)])
def test_each_fault_fails_its_check(plant: Callable[[dict[str, Any]], None], check: str) -> None:
    measured = copy.deepcopy(SOUND)
    plant(measured)
    found = judge(measured)[check]
    assert found.passed is False
    assert found.cause
    assert found.remedy


@pytest.mark.parametrize("text", ["two dogs", "three cats", "2 cats", ""])
def test_a_model_that_sees_half_fails(text: str) -> None:
    measured = copy.deepcopy(SOUND)
    measured["answers"][0]["text"] = text
    assert judge(measured, ASKED)["answers.keywords"].passed is False


def test_keywords_that_random_weights_say_prove_nothing() -> None:
    measured = copy.deepcopy(SOUND)
    measured["control"][0]["text"] = "cats cats"
    assert judge(measured, ASKED)["control.keywords"].passed is False


def test_perplexity_limits_of_a_recipe() -> None:
    import dataclasses

    def limited(limit: float, text: str = "english") -> bool | None:
        recipe = dataclasses.replace(ASKED, verify=Verify(max_perplexity={text: limit}))
        return judge(SOUND, recipe)[f"quality.perplexity.{text}"].passed

    assert limited(21.0) is True
    assert limited(19.0) is False
    assert limited(21.0, "absent") is False


def test_what_was_not_measured_is_skipped_and_says_why() -> None:
    nothing = {"headers": {"unavailable": "why"}, **dict.fromkeys(("layers", "attention", "hf32", "kernels"))}
    measured = {**copy.deepcopy(SOUND), **nothing, "fresh_process": None, "image_tokens": None}
    measured["words"]["template"] = None
    found = judge(measured)
    for name in ("headers", "load.agrees", "layers.finite", "attention.agrees", "precision.hf32", "template",
                 "operators.kernels", "repeat.fresh-process", "images.tokens"):  # fmt: skip
        assert found[name].passed is None
        assert found[name].observed


def test_operators_on_the_cpu_that_the_recipe_accepts() -> None:
    found = {"torch_npu": "2.9.0", "operators": 80, "fallbacks": {"aten::histc": 6, "aten::poly_nar": 1}}
    assert kernel_check(found, 2).passed is True
    assert kernel_check(found, 1).passed is False
    assert "aten::histc (6x)" in kernel_check(found, 1).observed
    unread = kernel_check({"unavailable": "why"}, 0)
    assert unread.passed is None and unread.observed == "why"


@pytest.mark.parametrize(
    ("languages", "passed"),
    [(("english",), True), (("chinese",), False), (("english", "chinese"), False), ((), None)],
)
def test_a_model_that_is_blind_to_a_language_it_should_know(
    languages: tuple[str, ...], passed: bool | None
) -> None:
    import dataclasses

    recipe = dataclasses.replace(ASKED, verify=Verify(languages=languages))
    assert judge(SOUND, recipe)["quality.known"].passed is passed
