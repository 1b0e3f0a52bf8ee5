"""Every error a user can meet: a code, a cause, a remedy, the right exit status, and data left as it was."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from npukit.builtin import model_dir
from tests.integration.conftest import MODEL, Npukit

THREE_FAULTS = """
schema = 1
name = "mine"
title = "Mine"
task = "text-generation"
[source]
order = ["local"]
local = "/nowhere"
[bench]
rounds = "twenty"
warmpu = 3
[load]
dtype = 16
"""


def test_a_wrong_name_suggests_the_nearest(npukit: Npukit) -> None:
    said = npukit("verify", "tiny-minicpm", "--json")
    assert said.status == 2
    error = said.document["error"]
    assert error["code"] == "recipe.unknown"
    assert error["fields"]["nearest"] == MODEL
    assert "npukit run" in error["remedy"]


def test_every_fault_of_a_recipe_is_listed(npukit: Npukit, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(THREE_FAULTS, encoding="utf-8")
    said = npukit("verify", path, "--json")
    assert said.status == 2
    words = said.document["error"]["what"]
    for part in ("bench.rounds", "bench.warmpu", "'warmup'", "load.dtype", "prompts: missing"):
        assert part in words


@pytest.mark.parametrize("content", ["name = ", "\x00\x01", "[[prompts]\n"])
def test_a_recipe_that_is_no_toml(npukit: Npukit, tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content, encoding="utf-8")
    said = npukit("verify", path, "--json")
    assert said.status == 2
    assert said.document["error"]["code"] == "recipe.not-toml"


def test_a_missing_recipe(npukit: Npukit, tmp_path: Path) -> None:
    said = npukit("verify", tmp_path / "none.toml", "--json")
    assert (said.status, said.document["error"]["code"]) == (2, "recipe.unreadable")


def test_nothing_is_meant(npukit: Npukit) -> None:
    said = npukit("verify", "--json")
    assert (said.status, said.document["error"]["code"]) == (2, "recipe.none-meant")


def test_an_npu_that_is_not_there(npukit: Npukit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npukit.devices.choice.versions", lambda names: dict.fromkeys(names))
    said = npukit("verify", MODEL, "--device", "npu", "--json")
    assert (said.status, said.document["error"]["code"]) == (3, "device.no-torch-npu")


@pytest.mark.parametrize("device", ["tpu", "npu:x", "cpu:1", "npu:-1", ""])
def test_a_device_that_does_not_exist(npukit: Npukit, device: str) -> None:
    said = npukit("verify", MODEL, "--device", device, "--json")
    assert (said.status, said.document["error"]["code"]) == (2, "device.unknown")


def test_a_missing_picture(npukit: Npukit, tmp_path: Path) -> None:
    said = npukit("chat", MODEL, "--image", tmp_path / "none.png", "--question", "What?", "--json")
    assert (said.status, said.document["error"]["code"]) == (2, "picture.missing")


def test_usage_errors_are_documents_too(npukit: Npukit) -> None:
    for arguments in (["verify", "--nope"], ["nope"], ["bench", "--rounds", "x"], ["bench", "--rounds", "0"]):
        said = npukit(*arguments, "--json")
        assert said.status == 2
        assert said.document["error"]["code"] == "usage.wrong"
        assert said.document["error"]["remedy"].endswith("--help")


def test_words_for_people_in_both_languages(npukit: Npukit) -> None:
    english = npukit("verify", "tiny-minicpm")
    chinese = npukit("verify", "tiny-minicpm", "--lang", "zh")
    assert english.out == chinese.out == ""
    assert "cause" in english.err
    assert "npukit recipes" in english.err
    assert "原因" in chinese.err


@pytest.fixture
def own_model(tmp_path: Path) -> Path:
    """A copy of the embedded model that a test may damage."""
    directory = tmp_path / "model"
    shutil.copytree(model_dir(), directory)
    return directory


def test_weights_damaged_before_a_fetch(npukit: Npukit, own_model: Path) -> None:
    weights = own_model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    said = npukit("verify", f"{own_model}/", "--json")
    assert (said.status, said.document["error"]["code"]) == (1, "stage.need-failed")
    assert "fetch.whole" in said.document["error"]["what"]


def test_weights_changed_after_a_fetch_are_another_model(npukit: Npukit, own_model: Path) -> None:
    first = npukit("verify", f"{own_model}/", "--json")
    weights = own_model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1000:] = bytes(1000)
    weights.write_bytes(content)
    second = npukit("verify", f"{own_model}/", "--json")
    assert "changed since they were proven" in second.err
    assert not second.document["reused"]
    assert second.document["inputs"]["weights"] != first.document["inputs"]["weights"]


def test_a_torn_result_is_a_miss(home_after_run: Path, npukit: Npukit) -> None:
    path = next(home_after_run.glob("results/*/cpu/verify/*.json"))
    whole = path.read_text(encoding="utf-8")
    for torn in (whole[: len(whole) // 2], "", "null", "[]", '{"format": 99}'):
        path.write_text(torn, encoding="utf-8")
        said = npukit("show", MODEL, "--json")
        assert said.status == 0
        assert not said.document["stages"][2]["current"]
    said = npukit("verify", MODEL, "--json")
    assert said.status == 0
    assert not said.document["reused"]
    assert npukit("verify", MODEL, "--json").document["reused"]


def test_a_home_that_cannot_be_written(
    npukit: Npukit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a directory", encoding="utf-8")
    monkeypatch.setenv("NPUKIT_HOME", str(tmp_path / "file" / "home"))
    said = npukit("fetch", MODEL, "--json")
    assert (said.status, said.document["error"]["code"]) == (4, "workspace.unwritable")


def test_a_bug_keeps_its_traceback(npukit: Npukit, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr("npukit.cli.opening.recipe_of", broken)
    said = npukit("verify", MODEL, "--json")
    assert (said.status, said.document["error"]["code"]) == (70, "bug.unknown")
    assert "Traceback" in said.err
    assert "no such luck" in said.document["error"]["what"]


def test_stages_that_end_before_they_begin_are_a_wrong_usage(npukit: Npukit) -> None:
    said = npukit("run", MODEL, "--from", "bench", "--until", "fetch", "--json")
    assert (said.status, said.document["error"]["code"]) == (2, "stage.order")
    assert "--from fetch --until bench" in said.document["error"]["remedy"]


def test_a_recipe_is_copied_into_a_directory_and_overwrites_nothing(npukit: Npukit, tmp_path: Path) -> None:
    copied = tmp_path / f"{MODEL}.toml"
    assert npukit("recipes", "copy", MODEL, tmp_path, "--json").document == {"path": str(copied)}
    before = copied.read_bytes()
    again = npukit("recipes", "copy", MODEL, tmp_path, "--json")
    assert (again.status, again.document["error"]["code"]) == (2, "recipe.exists")
    assert copied.read_bytes() == before


def test_weights_only_as_a_pickle_fail_at_fetch(npukit: Npukit, tmp_path: Path) -> None:
    model = tmp_path / "pickled"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    (model / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    said = npukit("run", model, "--device", "cpu", "--out", tmp_path / "report", "--json")
    assert said.status == 1
    (stage,) = said.document["stages"]
    assert [check["id"] for check in stage["checks"] if check["passed"] is False] == ["fetch.safetensors"]


@pytest.mark.parametrize("content", ["[1]", '{"a": ', "3"])
def test_a_config_that_is_no_object_is_an_error_of_the_data(
    npukit: Npukit, tmp_path: Path, content: str
) -> None:
    model = tmp_path / "odd"
    model.mkdir()
    (model / "config.json").write_text(content, encoding="utf-8")
    said = npukit("fetch", model, "--json")
    assert said.status in (1, 4)
    said = npukit("run", model, "--device", "cpu", "--out", tmp_path / "report", "--json")
    assert (said.status, said.document["error"]["code"]) == (4, "recipe.no-config")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_as_an_interrupt_and_its_worker_with_it(tmp_path: Path, number: int) -> None:
    environment = {**os.environ, "NPUKIT_HOME": str(tmp_path / "home")}
    command = [
        sys.executable,
        "-m",
        "npukit",
        "run",
        MODEL,
        "--device",
        "cpu",
        "--out",
        str(tmp_path / "out"),
    ]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as front:
        assert front.stderr
        for line in front.stderr:
            if b"starting torch" in line:
                break
        front.send_signal(number)
        rest = front.stderr.read()  # ends when the worker, too, has let go
    assert front.returncode == 130
    assert b"run.interrupted" in rest
    assert not [p for p in (tmp_path / "home").rglob(".*") if p.is_file() and p.stat().st_size]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--undo", "--remove"), "usage.apart"),
        (("--list", "--target", "vllm"), "usage.apart"),
        (("--platform", "aarch64"), "usage.lone"),
        (("--python", "3.11"), "usage.lone"),
        (("--release", "0.23.0"), "usage.lone"),
    ],
)
def test_no_option_of_patch_is_silently_ignored(npukit: Npukit, options: tuple[str, ...], code: str) -> None:
    said = npukit("patch", MODEL, *options, "--json")
    assert (said.status, said.document["error"]["code"]) == (2, code)


def test_one_broken_recipe_hides_no_other(
    npukit: Npukit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.toml").write_text("[", encoding="utf-8")
    monkeypatch.setenv("NPUKIT_RECIPES", str(tmp_path))
    document = npukit("recipes", "--json").document
    assert MODEL in [row["name"] for row in document["recipes"]]
    assert [row["code"] for row in document["broken"]] == ["recipe.not-toml"]
    assert npukit("recipes", "check").status == 2
