"""Published failures, made to happen on small checkpoints, and cured by patches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import transformers
from safetensors.torch import load_file

from npukit.devices.base import open_device
from npukit.devices.name import parse_device
from npukit.overlay import Composed, compose, write
from npukit.patches import Situation, choose
from npukit.remote_code import code_files
from npukit.session import LoadSpec, Session
from tests.fixtures.minimind import write_minimind
from tests.fixtures.nanowhale import tensors, write_checkpoint, write_tokenizer

HERE = Situation(transformers.__version__, own_code=True)


@pytest.fixture(autouse=True, scope="module")
def own_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where transformers copies models' own code to: one place, for Python remembers the package it is in."""
    with pytest.MonkeyPatch.context() as patch:
        place = str(tmp_path_factory.mktemp("modules"))
        patch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", place)
        patch.syspath_prepend(place)
        yield


def patched(source: Path, *entries: dict[str, Any]) -> tuple[Path, Composed]:
    """A directory of its own name (transformers names modules by it) with the patches in it."""
    composed = compose(source, choose(entries), HERE)
    place = source.with_name(f"{source.name}_patched")
    write(composed, place, copied=code_files(source))
    return place, composed


def load(directory: Path, worker: Sequence[dict[str, Any]] = (), trust: bool = True) -> Session:
    spec = LoadSpec(str(directory), "text-generation", trust_remote_code=trust, registrations=list(worker))
    return Session.load(spec, open_device(parse_device("cpu")))


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_kv_lora_rank_is_missing_until_it_is_derived(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "wants_rank")
    write_tokenizer(source, "PreTrainedTokenizerFast")
    code = source / "modeling_deepseek_v4.py"
    replace(code, "plain = config.head_dim - config.qk_rope_head_dim", "plain = config.kv_lora_rank")
    message = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    with load(source) as session, pytest.raises(AttributeError, match="no attribute 'kv_lora_rank'"):
        session.logits(session.encode(message))
    entry = {"name": "config-derive", "set": {"kv_lora_rank": "head_dim - qk_rope_head_dim"}}
    place, composed = patched(source, entry)
    with load(place, composed.worker) as session:
        assert session.config.kv_lora_rank == 16
        assert session.logits(session.encode(message)).isfinite().all()
    assert (place / code.name).read_text() == code.read_text(), "the model's code is as published"


def test_kv_lora_rank_for_a_class_that_swallows_unknown_keys(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "swallows")
    replace(
        source / "configuration_deepseek_v4.py",
        "        super().__init__(",
        "        kwargs.pop('kv_lora_rank', None)\n        super().__init__(",
    )
    derive = {"name": "config-derive", "set": {"kv_lora_rank": "head_dim - qk_rope_head_dim"}}
    place, composed = patched(source, derive)
    with load(place, composed.worker) as session:
        assert not hasattr(session.config, "kv_lora_rank")
    supply = {
        "name": "config-attributes",
        "config": "configuration_deepseek_v4.DeepseekV4Config",
        "set": {"kv_lora_rank": "head_dim - qk_rope_head_dim"},
    }
    place, composed = patched(source, supply)
    with load(place, composed.worker) as session:
        assert session.config.kv_lora_rank == 16


def test_an_unrecognized_configuration_class_is_registered(tmp_path: Path) -> None:
    auto_map = {"AutoConfig": "configuration_deepseek_v4.NanoWhaleConfig"}
    config = {"auto_map": auto_map, "model_type": "nanowhale", "architectures": ["NanoWhaleForCausalLM"]}
    source = write_checkpoint(tmp_path / "half_mapped", config=config)
    write_tokenizer(source, "PreTrainedTokenizerFast")
    for name in ("configuration_deepseek_v4.py", "modeling_deepseek_v4.py"):
        replace(source / name, "DeepseekV4", "NanoWhale")
    replace(source / "configuration_deepseek_v4.py", '"deepseek_v4"', '"nanowhale"')
    with pytest.raises(ValueError, match="Unrecognized configuration class"):
        load(source)
    entry = {
        "name": "register-class",
        "config": "configuration_deepseek_v4.NanoWhaleConfig",
        "model": "modeling_deepseek_v4.NanoWhaleForCausalLM",
    }
    place, composed = patched(source, entry)
    with load(place, composed.worker) as session:
        report = session.report
        assert (report.missing, report.unexpected, report.mismatched) == ([], [], [])
        state = session.model.state_dict()
    assert all(state[name].equal(tensor) for name, tensor in tensors().items())


def test_tables_left_unset_by_transformers_5_are_computed_anew(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "tables")
    place, composed = patched(source)
    expected = bool(int(transformers.__version__.split(".")[0]) >= 5)
    assert [entry["do"] for entry in composed.worker] == ["buffers"] * expected
    with load(place, composed.worker) as session:
        model = session.model
        fresh = type(model)(model.config)
        assert model.model.freqs_cis.equal(fresh.model.freqs_cis)


def test_renamed_weights_load_natively_and_still_compute_something_else(tmp_path: Path) -> None:
    """Why the model's own code is the way: names can be mended, arithmetic cannot."""
    if not hasattr(transformers, "DeepseekV4ForCausalLM"):
        pytest.skip(f"transformers {transformers.__version__} has no deepseek_v4 of its own")
    source = write_checkpoint(tmp_path / "native", config={"auto_map": None}, code=False)
    rules = [
        [r"model\.(layers\.\d+)\.ffn\.shared_expert\.(.*)", r"\1.ffn.shared_experts.\2"],
        [r"model\.embed_tokens\.(.*)", r"embed.\1"],
        [r"lm_head\.(.*)", r"head.\1"],
        [r"model\.(.*)", r"\1"],
    ]
    place, composed = patched(source, {"name": "weight-keys", "rename": rules})
    account = composed.steps[-1].account
    assert account["tensors"] == account["renamed"] == len(tensors())
    assert sorted(load_file(place / "model.safetensors")) == sorted(account["names"].values())
    message = [{"role": "user", "content": [{"type": "text", "text": "The capital of France is"}]}]
    spec = LoadSpec(str(place), "text-generation", attention="eager")
    with Session.load(spec, open_device(parse_device("cpu"))) as session:
        assert (session.report.missing, session.report.unexpected) == ([], [])
        native = session.logits(session.encode(message))
    own, composed = patched(write_checkpoint(tmp_path / "own"))
    with load(own, composed.worker) as session:
        ours = session.logits(session.encode(message))
    assert (native - ours).abs().max() > 0.1 * ours.abs().max()


def test_minimind_is_what_its_files_say(tmp_path: Path) -> None:
    source = write_minimind(tmp_path / "minimind")
    document = json.loads((source / "config.json").read_text())
    assert (document["vocab_size"], document["max_position_embeddings"]) == (6400, 32768)
    before = compose(source, choose([]), Situation("4.57.6"))
    assert sorted(before.edits) == ["config.json", "tokenizer_config.json"]
    assert '+  "rope_theta": 1000000.0' in before.diff()
    assert compose(source, choose([]), Situation("5.7.0")).edits == {}
