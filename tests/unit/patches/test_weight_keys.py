"""Weight keys renamed: every tensor is accounted for, and its bytes stay what they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from npukit.errors import NpukitError
from npukit.overlay import compose, write
from npukit.patches import Situation, choose
from npukit.patches.renamed_weights import RenamedWeights

HERE = Situation("5.24.0")


def renamed(source: Path, rules: list[list[str]], place: Path) -> dict[str, Any]:
    composed = compose(source, choose([{"name": "weight-keys", "rename": rules}]), HERE)
    write(composed, place)
    return dict(composed.steps[-1].account)


def test_two_shards_and_their_index_are_renamed_together(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    first = {"model.embed.weight": np.arange(6, dtype=np.float32).reshape(2, 3)}
    second = {"model.norm": np.ones(3, np.float16), "lm_head.weight": np.zeros((2, 3), np.float32)}
    save_file(first, source / "a.safetensors", metadata={"format": "pt"})
    save_file(second, source / "b.safetensors")
    index = {"metadata": {"total_size": 54}, "weight_map": {**dict.fromkeys(first, "a.safetensors")}}
    index["weight_map"] |= dict.fromkeys(second, "b.safetensors")
    (source / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
    account = renamed(source, [[r"model\.(.*)", r"\1"]], tmp_path / "patched")
    assert (account["tensors"], account["renamed"], account["unchanged"]) == (3, 2, 1)
    assert account["names"] == {"model.embed.weight": "embed.weight", "model.norm": "norm"}
    a, b = (load_file(tmp_path / "patched" / name) for name in ("a.safetensors", "b.safetensors"))
    assert np.array_equal(a["embed.weight"], first["model.embed.weight"])
    assert sorted(b) == ["lm_head.weight", "norm"]
    written = json.loads((tmp_path / "patched" / "model.safetensors.index.json").read_text())
    assert written["weight_map"] == {
        "embed.weight": "a.safetensors",
        "norm": "b.safetensors",
        "lm_head.weight": "b.safetensors",
    }


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ([["nothing", "x"]], "fits no tensor"),
        ([["(a|b)", "c"]], "given twice"),
        ([["a", "b"]], "given twice"),
        ([["(", "x"]], "no [pattern, replacement]"),
        ([["a"]], "no [pattern, replacement]"),
        ([["a", r"\9"]], "no [pattern, replacement]"),
        ([], "no rule"),
    ],
)
def test_a_rule_that_does_not_fit_is_an_error(rules: list[list[str]], why: str, tmp_path: Path) -> None:
    save_file({"a": np.ones(1), "b": np.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(NpukitError) as caught:
        compose(tmp_path, choose([{"name": "weight-keys", "rename": rules}]), HERE)
    assert caught.value.code == "patch.unfit"
    assert why in caught.value.message().cause


def test_a_directory_without_safetensors_and_a_torn_file_do_not_fit(tmp_path: Path) -> None:
    chosen = choose([{"name": "weight-keys", "rename": [["a", "b"]]}])
    with pytest.raises(NpukitError, match="does not fit"):
        compose(tmp_path, chosen, HERE)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(NpukitError, match=r"does not fit model\.safetensors"):
        compose(tmp_path, chosen, HERE)


@settings(max_examples=30, deadline=None)
@given(sizes=st.dictionaries(st.text(min_size=1, max_size=8), st.integers(0, 5), min_size=1, max_size=6))
def test_any_names_and_sizes_survive_with_their_bytes(
    sizes: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    sizes.pop("__metadata__", None)
    place = tmp_path_factory.mktemp("weights")
    tensors = {name: np.arange(size, dtype=np.int64) for name, size in sizes.items()}
    save_file(tensors, place / "a.safetensors")
    RenamedWeights(place / "a.safetensors", {name: f"{name}/new" for name in sizes}).write(
        place / "b.safetensors"
    )
    found = load_file(place / "b.safetensors")
    assert {name: list(values) for name, values in found.items()} == {
        f"{name}/new": list(values) for name, values in tensors.items()
    }
