"""verify on sound models, untrained ones, and checkpoints that lie a little."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npukit.recipe import Prompt
from tests.fixtures.in_process import InProcess
from tests.fixtures.tiny_models import CONFIGS, build_model, build_tokenizer, save

pytestmark = pytest.mark.torch
# what only training can give
LEARNED = {"quality.known", "quality.entropy"}


def test_every_check_of_a_whole_run(finished_home: Path) -> None:
    stages = {
        one["stage"]: one for one in json.loads((finished_home / "run.json").read_text("utf-8"))["stages"]
    }
    checks = {check["id"]: check for check in stages["verify"]["checks"]}
    assert {"headers.missing", "load.agrees", "load.values", "config.landed", "images.tokens"} <= set(checks)
    for check in checks.values():
        assert check["passed"] is not False
        assert check["expected"] and check["observed"]
    rows = stages["verify"]["measured"]["image_tokens"]
    assert {(row["mode"], row["shape"]) for row in rows} == {
        (mode, shape) for mode in ("16x", "4x") for shape in ("square", "wide", "tall", "sliced")
    }
    assert all(row["tokens"] == row["features"] > 0 for row in rows)
    tokens = {(row["mode"], row["shape"]): row["tokens"] for row in rows}
    for shape in ("square", "wide", "tall"):
        assert tokens["4x", shape] == 4 * tokens["16x", shape]
    assert tokens["16x", "sliced"] > 4 * tokens["16x", "square"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], InProcess]:
    scratch = tmp_path_factory.mktemp("models")
    made: dict[str, InProcess] = {}

    def model(kind: str) -> InProcess:
        if kind not in made:
            directory = save(build_model(kind), build_tokenizer(), scratch / kind)
            made[kind] = InProcess(
                directory, scratch, prompts=(Prompt("france", "The capital of France is"),)
            )
        return made[kind]

    return model


@pytest.mark.parametrize("kind", CONFIGS)
def test_random_weights_land_and_know_nothing(kind: str, models: Callable[[str], InProcess]) -> None:
    found = models(kind).verify(layers=True)
    assert found.failed <= LEARNED
    assert "quality.known" in found.failed
    assert "random weights" in found["quality.known"].cause
    headers = found.measured["headers"]
    assert headers["landed"] == headers["model_tensors"]
    if kind == "deepseek_v4":
        assert headers["file_tensors"] > headers["model_tensors"], "experts are merged on the way"
    else:
        assert found["attention.agrees"].passed is True


def broken(asked: InProcess, directory: Path, edit: Callable[[Path], None]) -> Any:
    shutil.copytree(asked.directory, directory)
    edit(directory)
    return asked.moved(directory).verify()


def without_a_tensor(directory: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = directory / "model.safetensors"
    tensors = load_file(path)
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, path, metadata={"format": "pt"})


def test_a_weight_that_the_library_fills_silently(models: Callable[[str], InProcess], tmp_path: Path) -> None:
    found = broken(models("llama"), tmp_path / "m", without_a_tensor)
    assert {"headers.missing", "load.missing", "load.initial"} <= found.failed
    assert found["load.agrees"].passed is True
    assert "model.layers.*.mlp.up_proj.weight" in found["load.initial"].observed
    assert "fewer layers" in found["headers.missing"].cause


def edited(**changes: Any) -> Callable[[Path], None]:
    def edit(directory: Path) -> None:
        path = directory / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")

    return edit


def test_a_dimension_that_does_not_fit(models: Callable[[str], InProcess], tmp_path: Path) -> None:
    found = broken(models("llama"), tmp_path / "m", edited(vocab_size=384))
    assert {"headers.mismatched", "load.mismatched"} <= found.failed
    assert "320 entries in the file and 384 in the config" in found["headers.mismatched"].cause
    assert found["load.agrees"].passed is True


def test_keys_of_the_config_that_nobody_reads_are_named(
    models: Callable[[str], InProcess], tmp_path: Path
) -> None:
    found = broken(models("llama"), tmp_path / "m", edited(wibble_factor=3))
    assert found["config.landed"].passed is True
    assert found["config.read"].passed is None
    assert "wibble_factor" in found["config.read"].observed


def test_generation_that_never_stops(models: Callable[[str], InProcess], tmp_path: Path) -> None:
    def edit(directory: Path) -> None:
        path = directory / "generation_config.json"
        path.write_text(json.dumps({"eos_token_id": 400, "pad_token_id": 0}), "utf-8")

    found = broken(models("llama"), tmp_path / "m", edit)
    assert {"special.eos", "special.in-range"} <= found.failed
