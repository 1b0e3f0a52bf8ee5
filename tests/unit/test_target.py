"""Which model a command means, in the order that the documentation gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npukit.errors import NpukitError
from npukit.target import meant, recipe_of, task_of
from npukit.workspace import Workspace


def test_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    with pytest.raises(NpukitError):
        meant(None, None, workspace)
    workspace.remember("last")
    assert meant(None, None, workspace) == ("last", "fetched last")
    monkeypatch.setenv("NPUKIT_MODEL", "env")
    assert meant(None, None, workspace)[0] == "env"
    assert meant(None, "option", workspace)[0] == "option"
    assert meant("argument", "option", workspace)[0] == "argument"


def test_a_directory_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "my model").mkdir()
    recipe = recipe_of(f"{tmp_path}/my model")
    assert recipe.name == "my--model"
    assert recipe.source.local == str(tmp_path / "my model")
    with pytest.raises(NpukitError) as caught:
        recipe_of(f"{tmp_path}/none")
    assert caught.value.code == "recipe.no-directory"


def test_a_name_without_a_separator_is_never_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "minimind2").mkdir()
    monkeypatch.chdir(tmp_path)
    assert recipe_of("minimind2").source.order == ("huggingface", "modelscope")


def test_the_task_by_the_config(tmp_path: Path) -> None:
    with pytest.raises(NpukitError):
        task_of(tmp_path)
    for config, task in (({"vision_config": {}}, "image-text-to-text"), ({}, "text-generation")):
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        assert task_of(tmp_path) == task
