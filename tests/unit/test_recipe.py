"""Recipes are read strictly, every fault at once, and every built-in one is well formed."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.errors import NpukitError
from npukit.recipe import find_recipe, load_recipe, recipe_files, recipe_from
from npukit.target import recipe_of, to_toml

SMALL = {
    "schema": 1,
    "name": "mine",
    "title": "Mine",
    "task": "text-generation",
    "source": {"order": ["local"], "local": "/m"},
    "prompts": [{"id": "a", "text": "Hi"}],
}


def faults(document: dict[str, object]) -> str:
    with pytest.raises(NpukitError) as caught:
        recipe_from(document)
    assert caught.value.code == "recipe.faults"
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(recipe_files()))
def test_built_in_recipes(name: str) -> None:
    recipe = find_recipe(name)
    assert recipe.name == name
    assert Path(recipe.path).read_text(encoding="utf-8").startswith("# npukit ")
    assert recipe.summary
    assert recipe.summary_zh


def test_a_small_recipe() -> None:
    recipe = recipe_from(SMALL)
    assert recipe.prompt().text == "Hi"
    assert recipe.prompt("none") is recipe.prompts[0]
    assert recipe.bench.rounds == 20


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": "poetry"}, "task: 'poetry' is none of"),
        ({"tsk": 1}, "did you mean 'task'?"),
        ({"prompts": []}, "prompts: at least one"),
        ({"prompts": "hi"}, "prompts: a list was expected, not 'hi'"),
        ({"prompts": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]}, "used twice"),
        ({"prompts": [{"id": "a"}]}, "prompts[0].text: missing"),
        ({"name": "a/b"}, "separators"),
        *(({"name": name}, "name: ") for name in ("..", ".", ".a", "-rf", "a\nb", "a*", "", "x" * 101)),
        ({"accuracy": {"min_cosine": float("nan")}}, "accuracy.min_cosine: a finite number"),
        ({"bench": {"min_tokens_per_s": float("inf")}}, "bench.min_tokens_per_s: a finite number"),
        ({"accuracy": {"float16": {"min_cosine": "x"}}}, "accuracy.float16.min_cosine: a number"),
        ({"accuracy": {"float16": {"mincosine": 1.0}}}, "accuracy.float16: 'mincosine' is none of"),
        ({"generation": {"inputs": {"a": [date(1979, 5, 27)]}}}, "generation.inputs.a[0]: a text"),
        ({"generation": {"inputs": {"a": float("inf")}}}, "generation.inputs.a: a text"),
        ({"generation": {"max_new_tokens": 0}}, "generation.max_new_tokens: must be"),
        ({"expect": {"files": {"a": 3}}}, "expect.files.a: a table was expected"),
        ({"runtime": {"remote_code": {"a.py": 3}}}, "runtime.remote_code.a.py: a text"),
        ({"verify": {"max_perplexity": {"english": "x"}}}, "verify.max_perplexity.english: a number"),
        ({"verify": {"texts": {"english": 3}}}, "verify.texts.english: a text"),
        ({"verify": {"control_seed": -1}}, "verify.control_seed: must be"),
        ({"verify": {"min_hits": 7.0}}, "verify.min_hits: a share"),
        ({"source": {"only": ["huggingface"]}}, "source.huggingface: missing, though source.only"),
        ({"schema": 2}, "schema: 2"),
        ({"source": {"order": ["huggingface"]}}, "source.huggingface: missing"),
        ({"source": {}}, "names no source"),
        ({"load": {"dtype": "int3"}}, "load.dtype"),
        ({"bench": {"rounds": True}}, "bench.rounds: a whole number was expected, not True"),
        ({"bench": {"rounds": 0}}, "at least 1"),
        ({"bench": {"prompt": "b"}}, "the id of no prompt"),
        ({"path": "/etc/passwd", "title": 3}, "title: a text was expected, not 3"),
    ],
)
def test_each_fault_is_named(change: dict[str, object], words: str) -> None:
    assert words in faults({**SMALL, **change})


def test_faults_are_listed_all_at_once() -> None:
    words = faults({**SMALL, "nme": 1, "title": 2, "load": {"dtype": 3}})
    assert "3 fault(s)" in words


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ).flatmap(lambda value: st.sampled_from(sorted(SMALL)).map(lambda key: {key: value}))
)
def test_no_document_breaks_the_reader(change: dict[str, object]) -> None:
    try:
        recipe_from({**SMALL, **change})
    except NpukitError as error:
        assert error.code == "recipe.faults"


def test_own_recipes_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "tiny-minicpm-v.toml"
    own.write_text(to_toml(recipe_of("hf:me/tiny-minicpm-v")), encoding="utf-8")
    monkeypatch.setenv("NPUKIT_RECIPES", str(tmp_path))
    assert find_recipe("tiny-minicpm-v").source.huggingface == "me/tiny-minicpm-v"


@pytest.mark.parametrize("model", ["hf:Qwen/Qwen3-0.6B", "ms:a/b", 'hf:odd/na"me', "hf:o/中文"])
def test_a_derived_recipe_can_be_written_and_read(model: str, tmp_path: Path) -> None:
    derived = recipe_of(model)
    path = tmp_path / "derived.toml"
    path.write_text(to_toml(derived), encoding="utf-8")
    read = load_recipe(path)
    assert (read.name, read.title, read.source, read.task) == (
        derived.name,
        derived.title,
        derived.source,
        derived.task,
    )


def test_a_recipe_that_is_nested_too_deep_is_not_toml(tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 5000 + "]" * 5000, encoding="utf-8")
    with pytest.raises(NpukitError) as caught:
        load_recipe(path)
    assert caught.value.code == "recipe.not-toml"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("minimnd2", "recipe.unknown"),
        ("qqq", "recipe.unlike"),
        ("", "recipe.unlike"),
        ("./a/", "recipe.not-recipe"),
    ],
)
def test_what_is_said_of_a_wrong_name(name: str, code: str) -> None:
    with pytest.raises(NpukitError) as caught:
        find_recipe(name)
    assert caught.value.code == code


def test_an_id_of_a_hub_without_its_hub_is_told_how_to_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NpukitError) as caught:
        recipe_of("openbmb/MiniCPM-V-4.6")
    assert "npukit run hf:openbmb/MiniCPM-V-4.6" in caught.value.message().remedy
    (tmp_path / "openbmb" / "MiniCPM-V-4.6").mkdir(parents=True)
    assert recipe_of("openbmb/MiniCPM-V-4.6").source.order == ("local",)
