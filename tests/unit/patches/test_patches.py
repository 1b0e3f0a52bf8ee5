"""Each patch on small files: what it changes, when it leaves a file alone, and when it refuses to guess."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.errors import NpukitError
from npukit.overlay import compose
from npukit.patches import PATCHES, Change, Situation, choose, faults
from npukit.patches.arithmetic import evaluate
from npukit.patches.tree import Tree

OLD, NEW = Situation("4.57.6"), Situation("5.24.0")


def change(directory: Path, entry: dict[str, Any], situation: Situation = OLD, **files: Any) -> Change:
    """What the patch of ``entry`` does to a directory with ``files`` (``config`` for config.json)."""
    for name, document in files.items():
        (directory / f"{name}.json").write_text(json.dumps(document, indent=2))
    (chosen,) = (each for each in choose([entry]) if each.patch.name == entry["name"])
    return chosen.patch.edit(Tree(directory, {}), chosen.options, situation)


def after(made: Change, file: str = "config.json") -> Any:
    content = made.files[file]
    assert isinstance(content, bytes)
    return json.loads(content)


def refused(directory: Path, entry: dict[str, Any], situation: Situation = OLD, **files: Any) -> str:
    with pytest.raises(NpukitError) as caught:
        change(directory, entry, situation, **files)
    assert caught.value.code == "patch.unfit"
    return caught.value.message().cause


# --- standing: what transformers 5 wrote and 4 cannot read


def test_a_tokenizer_of_transformers_5_gets_the_name_that_4_knows(tmp_path: Path) -> None:
    saved = {"backend": "tokenizers", "tokenizer_class": "TokenizersBackend"}
    made = change(tmp_path, {"name": "tokenizer-class"}, tokenizer_config=saved)
    assert after(made, "tokenizer_config.json") == {
        **saved,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
    }
    assert not change(tmp_path, {"name": "tokenizer-class"}, NEW).files
    other = {"tokenizer_class": "LlamaTokenizer"}
    assert not change(tmp_path, {"name": "tokenizer-class"}, tokenizer_config=other).files


def test_a_list_of_special_tokens_moves_to_its_older_key(tmp_path: Path) -> None:
    saved = {"extra_special_tokens": ["<a>"], "eos_token": "</s>"}
    made = change(tmp_path, {"name": "special-tokens"}, tokenizer_config=saved)
    assert after(made, "tokenizer_config.json") == {"additional_special_tokens": ["<a>"], "eos_token": "</s>"}
    both = {**saved, "additional_special_tokens": []}
    assert "both" in refused(tmp_path, {"name": "special-tokens"}, tokenizer_config=both)
    table = {"extra_special_tokens": {"image_token": "<a>"}}
    assert not change(tmp_path, {"name": "special-tokens"}, tokenizer_config=table).files


def test_dtype_is_spelled_as_before_4_56_and_only_there(tmp_path: Path) -> None:
    saved = {"dtype": "bfloat16", "text_config": {"dtype": "bfloat16"}}
    made = change(tmp_path, {"name": "dtype-key"}, Situation("4.49.0"), config=saved)
    assert after(made) == {"torch_dtype": "bfloat16", "text_config": {"torch_dtype": "bfloat16"}}
    assert not change(tmp_path, {"name": "dtype-key"}, Situation("4.57.6"), config=saved).files


def test_rope_parameters_are_written_out_for_transformers_4(tmp_path: Path) -> None:
    saved = {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
        "text_config": {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e7, "factor": 4.0}},
    }
    made = change(tmp_path, {"name": "rope-keys"}, config=saved)
    assert after(made) == {
        "rope_theta": 1e6,
        "text_config": {"rope_theta": 1e7, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
    }
    assert not change(tmp_path, {"name": "rope-keys"}, NEW).files
    layered = {"rope_parameters": {"full_attention": {"rope_theta": 1e6}}}
    assert "layer type" in refused(tmp_path, {"name": "rope-keys"}, config=layered)
    clash = {"rope_theta": 1e4, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    assert "another value" in refused(tmp_path, {"name": "rope-keys"}, config=clash)


# --- named by a recipe


def test_architectures_and_auto_map_are_rewritten(tmp_path: Path) -> None:
    entry = {"name": "architectures", "architectures": ["B"], "drop_auto_map": True, "expect": ["A"]}
    saved = {"architectures": ["A"], "auto_map": {"AutoConfig": "x.Y"}, "model_type": "m"}
    assert after(change(tmp_path, entry, config=saved)) == {"architectures": ["B"], "model_type": "m"}
    assert not change(tmp_path, entry, config={"architectures": ["B"], "model_type": "m"}).files
    assert "['C']" in refused(tmp_path, entry, config={"architectures": ["C"]})


def test_keys_are_set_and_dropped_by_path(tmp_path: Path) -> None:
    entry = {"name": "config-keys", "set": {"text_config.a": 2}, "drop": ["index_topk"]}
    made = change(tmp_path, entry, config={"index_topk": 512, "text_config": {"a": 1}})
    assert after(made) == {"text_config": {"a": 2}}
    assert not change(tmp_path, entry, config={"text_config": {"a": 2}}).files
    assert "no table text_config" in refused(tmp_path, entry, config={"index_topk": 512})
    strict = {"name": "config-keys", "set": {"a": 2}, "expect": {"a": 1}}
    assert "expected 1" in refused(tmp_path, strict, config={"a": 3})


def test_a_missing_key_is_computed_from_others(tmp_path: Path) -> None:
    entry = {"name": "config-derive", "set": {"kv_lora_rank": "head_dim - qk_rope_head_dim"}}
    saved = {"head_dim": 96, "qk_rope_head_dim": 32}
    assert after(change(tmp_path, entry, config=saved)) == {**saved, "kv_lora_rank": 64}
    assert not change(tmp_path, entry, config={**saved, "kv_lora_rank": 64}).files
    assert "gives 64" in refused(tmp_path, entry, config={**saved, "kv_lora_rank": 1})
    assert "qk_rope_head_dim is None" in refused(tmp_path, entry, config={"head_dim": 96})


def test_classes_are_registered_in_the_worker_and_no_file_changes(tmp_path: Path) -> None:
    entry = {"name": "register-class", "config": "LlamaConfig", "model": "modeling_x.XForCausalLM"}
    assert "it is not there" in refused(tmp_path, entry)
    (tmp_path / "modeling_x.py").write_text("")
    made = change(tmp_path, entry)
    assert not made.files
    assert [each["do"] for each in made.worker] == ["register"]
    wrong = {**entry, "auto": "os.system"}
    assert "none of" in refused(tmp_path, wrong)


def test_every_fault_of_a_recipes_patches_is_listed_at_once() -> None:
    entries = [{"name": "config-kees"}, {"name": "config-keys", "drop": "a"}, {"name": "rope-keys", "x": 1}]
    first, second, third = faults(entries)
    assert "did you mean 'config-keys'" in first
    assert "patches[1].drop: a list was expected" in second
    assert "patches[2].x: no such key" in third
    with pytest.raises(NpukitError) as caught:
        choose(entries)
    assert caught.value.code == "patch.wrong"


def test_standing_patches_come_first_and_once() -> None:
    names = [each.patch.name for each in choose([{"name": "rope-keys"}, {"name": "config-keys"}])]
    assert names == [
        *("tokenizer-class", "special-tokens", "dtype-key", "rebuild-buffers"),
        *("rope-keys", "config-keys"),
    ]


@pytest.mark.parametrize("name", sorted(PATCHES))
def test_every_patch_says_why_how_and_when_it_may_go(name: str) -> None:
    patch = PATCHES[name]
    for words in (patch.why, patch.how, patch.remove_when):
        assert words.of("en").strip().endswith(".")
        assert words.of("zh").strip().endswith(("。", "时。"))
    assert patch.symptom


@given(st.text(max_size=40))
def test_any_text_is_a_sum_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(evaluate(text, {"a": 2}), int)


def test_sums() -> None:
    assert evaluate("a - b * 2 + 7 // 2", {"a": 96, "b": 16}) == 67
    for bad in ("a.b", "f(1)", "2 ** 9", "1 / 2", "a // 0", "b", "True"):
        with pytest.raises(ValueError, match=r"\w"):
            evaluate(bad, {"a": 1, "b": None})


def test_a_diff_keeps_the_files_own_layout(tmp_path: Path) -> None:
    text = '{\n    "index_topk": 512,\n    "name": "\\u9cb8",\n    "eps": 1e-06\n}\n'
    (tmp_path / "config.json").write_text(text)
    composed = compose(tmp_path, choose([{"name": "config-keys", "drop": ["index_topk"]}]), NEW)
    assert composed.diff().splitlines()[3:] == [
        " {",
        '-    "index_topk": 512,',
        '     "name": "\\u9cb8",',
        '     "eps": 1e-06',
        " }",
    ]
