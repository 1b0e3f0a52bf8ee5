"""``npukit patch`` over the real command line, on small checkpoints with published faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npukit.cli.app import main
from tests.fixtures.nanowhale import write_checkpoint
from tests.fixtures.wheels import write_wheel

RECIPE = """
schema = 1
name = "nano"
title = "Nano"
task = "text-generation"
[source]
order = ["local"]
local = "{local}"
[runtime]
{runtime}
[load]
dtype = "float32"
attention = "{attention}"
[generation]
max_new_tokens = 4
inputs = {{ use_cache = false }}
[[prompts]]
id = "a"
text = "The capital of France is"
"""
Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NPUKIT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NPUKIT_MODEL", raising=False)
    return tmp_path / "home"


@pytest.fixture
def nano(tmp_path: Path, home: Path) -> Path:
    return write_checkpoint(tmp_path / "nano-published")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str | Path) -> tuple[int, Any]:
        status = main([*map(str, arguments), "--json"])
        return status, json.loads(capfd.readouterr().out)

    return run


def recipe(nano: Path, runtime: str = "", attention: str = "sdpa") -> Path:
    path = nano.parent / "nano.toml"
    path.write_text(RECIPE.format(local=nano, runtime=runtime, attention=attention))
    return path


DROP = 'patches = [{ name = "config-keys", drop = ["index_topk"] }]'


def test_a_dry_run_shows_the_diff_and_writes_nothing(nano: Path, home: Path, run: Run) -> None:
    status, document = run("patch", recipe(nano, DROP), "--dry-run")
    assert status == 0
    assert '-  "index_topk": 512,' in document["diff"].splitlines()
    assert not (home / "models" / "nano" / "patched").exists()


def test_patching_twice_changes_nothing_and_undo_restores(nano: Path, home: Path, run: Run) -> None:
    place = home / "models" / "nano" / "patched"
    published = {path.name: path.read_bytes() for path in nano.iterdir()}
    status, first = run("patch", recipe(nano, DROP), "--diff")
    assert (status, first["passed"], first["reused"]) == (0, True, False)
    assert first["diff"]
    inode = place.stat().st_ino
    status, second = run("patch", recipe(nano, DROP))
    assert (status, second["reused"], place.stat().st_ino) == (0, True, inode)
    assert run("patch", recipe(nano, DROP), "--undo") == (0, {"undone": ["config.json"]})
    assert run("patch", recipe(nano, DROP), "--undo") == (0, {"undone": []})
    assert not place.exists()
    assert {path.name: path.read_bytes() for path in nano.iterdir()} == published
    assert run("patch", recipe(nano, DROP))[1]["reused"] is False, "undone is noticed"


def test_a_changed_recipe_patches_anew_and_the_old_result_says_why(nano: Path, run: Run) -> None:
    assert run("patch", recipe(nano, DROP))[0] == 0
    _, document = run("patch", recipe(nano))
    assert document["reused"] is False
    assert document["measured"]["after"] == {}
    assert not (Path(document["measured"]["directory"]) / "npukit-patches.json").exists()


@pytest.mark.parametrize(
    ("runtime", "code", "status"),
    [
        ('patches = [{ name = "config-kees" }]', "recipe.faults", 2),
        ('patches = [{ name = "config-keys", dropp = [] }]', "recipe.faults", 2),
        ('patches = [{ name = "config-keys", set = { a = 1 }, expect = { a = 0 } }]', "patch.unfit", 4),
        ('patches = [{ name = "config-keys", file = "no.json", drop = ["a"] }]', "patch.no-file", 4),
        ('requires = ["transformers=5"]', "recipe.faults", 2),
    ],
)
def test_a_patch_that_cannot_be_is_an_explained_error(
    runtime: str, code: str, status: int, nano: Path, run: Run
) -> None:
    got, document = run("patch", recipe(nano, runtime))
    assert (got, document["error"]["code"]) == (status, code)
    assert document["error"]["remedy"]


def test_own_code_runs_only_after_consent_and_only_unchanged(nano: Path, run: Run) -> None:
    trusting = recipe(nano, "trust_remote_code = true")
    status, document = run("patch", trusting)
    assert (status, document["error"]["code"]) == (2, "remote-code.refused")
    assert "modeling_deepseek_v4.py" in document["error"]["cause"]
    status, document = run("patch", trusting, "--trust-remote-code")
    assert (status, document["passed"]) == (0, True)
    assert run("patch", trusting)[1]["reused"] is True
    with (nano / "modeling_deepseek_v4.py").open("a") as file:
        file.write("import os\n")
    status, document = run("patch", trusting)
    assert (status, document["error"]["code"]) == (4, "remote-code.changed")


def test_own_code_loads_every_weight_and_its_tables(nano: Path, run: Run) -> None:
    import torch
    from safetensors.torch import load_file

    trusting = recipe(nano, "trust_remote_code = true")
    assert run("patch", trusting, "--trust-remote-code")[0] == 0
    _, document = run("verify", trusting, "--device", "cpu")
    assert failed(document) == {"quality.known"}, "the weights are random, and nothing else is wrong"
    said = document["measured"]["answers"][0]["token_ids"]
    model = by_hand(nano)
    model.load_state_dict(load_file(nano / "model.safetensors"))
    tokens = list(b"The capital of France is")
    # Bytes are numbered by their letter in the tokenizer's alphabet, so they are taken from the tokenizer.
    vocabulary = json.loads((nano / "tokenizer.json").read_text())["model"]["vocab"]
    tokens = [vocabulary["Ġ" if byte == 32 else chr(byte)] for byte in tokens]
    with torch.no_grad():
        for _ in range(4):
            tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
    assert said == tokens[-4:]


def failed(document: Any) -> set[str]:
    return {check["id"] for check in document["checks"] if check["verdict"] == "fail"}


def by_hand(nano: Path) -> Any:
    """The model made in memory by its own class, without from_pretrained."""
    import importlib.util
    import sys

    package = "nanowhale_by_hand"
    for name in ("", ".configuration_deepseek_v4", ".modeling_deepseek_v4"):
        file = nano / f"{name[1:]}.py" if name else None
        spec = (
            importlib.util.spec_from_file_location(
                package + name, file, submodule_search_locations=None if name else [str(nano)]
            )
            if name
            else importlib.util.spec_from_loader(package, loader=None, is_package=True)
        )
        assert spec
        module = importlib.util.module_from_spec(spec)
        sys.modules[package + name] = module
        if spec.loader:
            spec.loader.exec_module(module)
    config = sys.modules[f"{package}.configuration_deepseek_v4"].DeepseekV4Config
    values = json.loads((nano / "config.json").read_text())
    return sys.modules[f"{package}.modeling_deepseek_v4"].DeepseekV4ForCausalLM(config(**values)).eval()


def test_transformers_own_class_fails_the_strict_gate_and_says_why(nano: Path, run: Run) -> None:
    status, document = run("verify", recipe(nano, attention="eager"), "--device", "cpu")
    assert status == 1, document
    assert {"load.missing", "load.unexpected"} <= failed(document)
    (missing,) = (check for check in document["checks"] if check["id"] == "load.missing")
    assert "shared_experts" in missing["observed"]
    assert "another class" in missing["cause"]
    assert "--trust-remote-code" in missing["remedy"]


def test_every_patch_is_listed_with_its_options(run: Run) -> None:
    status, document = run("patch", "--list")
    assert status == 0
    rows = {row["name"]: row for row in document["patches"]}
    assert rows["config-derive"]["options"] == {"set": "dict[str, Any]"}
    assert all(row["why"] and row["how"] and row["symptom"] and row["remove_when"] for row in rows.values())


def test_a_sandbox_is_built_from_a_wheelhouse_used_again_and_removed(
    nano: Path, home: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    write_wheel(tmp_path / "index", "npukit_shapes", "5.7.0")
    needy = recipe(nano, 'requires = ["npukit_shapes==5.7.0"]')
    status, document = run("patch", needy, "--download", tmp_path / "house")
    assert (status, list(document["wheels"])) == (0, ["npukit_shapes-5.7.0-py3-none-any.whl"])
    monkeypatch.delenv("PIP_FIND_LINKS")
    status, document = run("verify", needy, "--device", "cpu")
    assert (status, document["error"]["code"]) == (2, "stage.needs")
    status, document = run("patch", needy, "--wheelhouse", tmp_path / "house")
    assert (status, document["measured"]["packages"]) == (0, {"npukit-shapes": "5.7.0"})
    assert run("patch", needy)[1]["reused"] is True
    status, removed = run("patch", needy, "--remove")
    assert (status, len(removed["removed"])) == (0, 1)
    status, document = run("patch", needy)
    assert (status, document["error"]["code"]) == (3, "sandbox.unresolved")


def test_vllm_is_told_of_before_it_is_started_and_a_copy_is_made_for_it(
    nano: Path, home: Path, run: Run
) -> None:
    status, document = run("patch", recipe(nano), "--target", "vllm", "--release", "0.23.0")
    assert (status, document["run"], document["target"]) == (0, False, "vllm-ascend 0.23.0")
    before = {check["id"]: check["verdict"] for check in document["checks"]}
    after = {check["id"]: check["verdict"] for check in document["after"]}
    assert (before["vllm.tensors"], after["vllm.tensors"]) == ("fail", "pass")
    assert Path(document["directory"]) == home / "models" / "nano" / "for-vllm"
    assert "+model.layers.0.ffn.shared_experts.w1.weight  F32[40, 32]" in document["diff"].splitlines()
    status, document = run("patch", recipe(nano), "--target", "vllm", "--release", "0.18.0", "--dry-run")
    told = {check["id"]: check["observed"] for check in document["checks"]}
    assert (status, told["vllm.attention"]) == (1, "KeyError: (False, True)")
    status, document = run("patch", recipe(nano), "--target", "sglang")
    assert (status, document["error"]["code"]) == (2, "target.unknown")
