"""What is told of vllm-ascend before it is started, held against what was published of its failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npukit.errors import NpukitError
from npukit.results import Check
from npukit.targets.model import Model, read_model
from npukit.targets.release import DEFAULT, facts, loader, release, releases
from npukit.targets.vllm import remedies, report

# The last line of two published tracebacks. vLLM was not run here.
PUBLISHED_ATTENTION = "KeyError: (False, True)"
PUBLISHED_TENSORS = "ValueError: There is no module or parameter named 'embed_tokens' in LlamaForCausalLM"

NANOWHALE = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "model_type": "deepseek_v4",
    "head_dim": 96,
    "index_topk": 512,
    "compress_ratios": [0] * 9,
}
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
LLAMA_TENSORS = (
    "model.embed_tokens.weight",
    "model.layers.0.self_attn.q_proj.weight",
    "model.layers.0.mlp.down_proj.weight",
    "model.norm.weight",
)


def model(config: dict[str, Any], tensors: tuple[str, ...] = (), own: tuple[str, ...] = ()) -> Model:
    return Model(config, frozenset(own), tensors, "PreTrainedTokenizerFast")


def checks(made: Model, version: str) -> dict[str, Check]:
    return {check.id: check for check in report(made, release(version)[0])}


def test_the_published_key_error_is_told_and_dropping_the_key_mends_it() -> None:
    told = checks(model(NANOWHALE), "0.18.0")["vllm.attention"]
    assert (told.passed, told.observed) == (False, PUBLISHED_ATTENTION)
    assert "config.json has it" in told.cause
    assert remedies(model(NANOWHALE), release("0.18.0")[0]) == [
        {"name": "config-keys", "drop": ["index_topk"]}
    ]
    without = {key: value for key, value in NANOWHALE.items() if key != "index_topk"}
    mended = checks(model(without), "0.18.0")["vllm.attention"]
    assert (mended.passed, mended.observed) == (True, "(False, False) → attention_v1.AscendAttentionBackend")


def test_a_key_that_the_models_own_class_sets_cannot_be_dropped_from_a_file() -> None:
    made = model(NANOWHALE, own=("index_topk",))
    told = checks(made, "0.18.0")["vllm.attention"]
    assert (told.passed, told.observed) == (False, PUBLISHED_ATTENTION)
    assert "own configuration class" in told.cause
    assert remedies(made, release("0.18.0")[0]) == []


def test_a_newer_release_takes_the_same_configuration_to_another_backend() -> None:
    told = checks(model(NANOWHALE), "0.23.0")["vllm.attention"]
    assert (told.passed, told.observed) == (True, "(True, False, True) → dsa_v1.AscendDSABackend")
    stray = checks(model({**LLAMA, "compress_ratios": [4]}), "0.23.0")["vllm.attention"]
    assert (stray.passed, stray.observed) == (False, "KeyError: (False, False, True)")
    assert "compress_ratios" in stray.cause


def test_the_published_refusal_of_a_tensor_is_told_and_renaming_mends_it() -> None:
    bare = tuple(name.removeprefix("model.") for name in LLAMA_TENSORS)
    told = checks(model(LLAMA, bare), "0.18.0")["vllm.tensors"]
    assert (told.passed, told.cause) == (False, PUBLISHED_TENSORS)
    (entry,) = remedies(model(LLAMA, bare), release("0.18.0")[0])
    assert entry["name"] == "weight-keys"
    assert checks(model(LLAMA, LLAMA_TENSORS), "0.18.0")["vllm.tensors"].observed == "4 of 4 placed"
    assert remedies(model(LLAMA, LLAMA_TENSORS), release("0.18.0")[0]) == []


def test_what_is_not_known_is_skipped_and_not_guessed() -> None:
    told = checks(model({"architectures": ["NewForCausalLM"], "model_type": "new"}), "0.23.0")
    skipped = {id for id, check in told.items() if check.passed is None}
    assert skipped == {"vllm.architecture", "vllm.transformers", "vllm.tensors"}


def test_the_pin_on_transformers_decides_whether_a_model_type_is_known() -> None:
    minicpm = {"architectures": ["MiniCPMV4_6ForConditionalGeneration"], "model_type": "minicpmv4_6"}
    verdicts = {
        version: checks(model(minicpm), version)["vllm.transformers"].passed
        for version in ("0.13.0", "0.18.0", "0.23.0", "0.24.0rc1")
    }
    assert verdicts == {"0.13.0": False, "0.18.0": None, "0.23.0": False, "0.24.0rc1": True}


def test_own_code_is_named_since_equal_names_do_not_mean_equal_numbers() -> None:
    auto_map = {"AutoConfig": "c.C", "AutoModelForCausalLM": "modeling_x.DeepseekV4ForCausalLM"}
    told = checks(model({**NANOWHALE, "auto_map": auto_map}), "0.23.0")["vllm.own-code"]
    assert told.passed is None
    assert "modeling_x.DeepseekV4ForCausalLM" in told.observed


@pytest.mark.parametrize(
    ("asked", "taken"), [("0.18.0", "0.18.0"), ("0.18.5", "0.18.0"), ("0.99", "0.25.1rc1")]
)
def test_a_release_between_two_known_ones_is_read_as_the_older(asked: str, taken: str) -> None:
    found, why = release(asked)
    assert found.version == taken
    assert (asked == taken) == ("read as" not in why)


@pytest.mark.parametrize("asked", ["0.7.3", "newest"])
def test_a_release_nobody_read_is_an_error_that_names_those_read(asked: str) -> None:
    with pytest.raises(NpukitError) as caught:
        release(asked)
    assert DEFAULT in caught.value.message().cause


def test_the_facts_are_whole() -> None:
    assert DEFAULT in {each.version for each in releases()}
    assert {each.attention for each in releases()} == set(facts()["backends"])
    for architecture in facts()["loaders"]:
        reader = loader(architecture)
        assert reader
        for pattern, replacement in reader.candidates:
            assert isinstance(pattern, str)
            assert isinstance(replacement, str)
    assert loader("NewForCausalLM") is None


def test_a_directory_is_read_with_what_its_own_class_sets(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"auto_map": {"AutoConfig": "configuration_x.XConfig"}}')
    (tmp_path / "configuration_x.py").write_text(
        "class Other:\n    def __init__(self):\n        self.no = 1\n"
        "class XConfig:\n    def __init__(self, k=5):\n        self.index_topk = k\n"
    )
    made = read_model(tmp_path)
    assert made.own == {"index_topk"}
    assert made.has("index_topk")
    (tmp_path / "configuration_x.py").write_text("class (")
    assert read_model(tmp_path).own == frozenset()
