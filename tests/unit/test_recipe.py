"""Recipes are read strictly, every fault at once, and every built-in one is well formed."""

from __future__ import annotations

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
