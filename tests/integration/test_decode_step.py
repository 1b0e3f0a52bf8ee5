"""Decoding with our own step: the same tokens as transformers' generate, or why it does not serve."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from npukit.accelerations import accelerate
from npukit.accelerations.decoder import Decoder
from npukit.accelerations.rotation import Rotation
from npukit.devices.base import Device, open_device
from npukit.devices.name import DeviceName
from tests.fixtures.decoder_models import MODELS, VOCABULARY, Listener, build, prompt

pytestmark = pytest.mark.torch
NEW = 40  # beyond the rows of the convolution's memory and several chunks of positions


@pytest.fixture(scope="module")
def device() -> Device:
    torch.set_num_threads(1)
    return open_device(DeviceName("cpu"))


def decoder_of(model: Any, device: Device) -> Decoder:
    outcomes, decoder = accelerate(model, ["decode-step"], device)
    assert decoder is not None, outcomes
    return decoder


def refusal(model: Any, device: Device) -> str:
    (outcome,), decoder = accelerate(model, ["decode-step"], device)
    assert decoder is None
    assert not outcome.used
    return outcome.reason


def plain(model: Any, inputs: dict[str, torch.Tensor], **lengths: Any) -> torch.Tensor:
    found: torch.Tensor = model.generate(**inputs, do_sample=False, **lengths)
    return found


@torch.inference_mode()
def own(decoder: Decoder, inputs: dict[str, torch.Tensor], **options: Any) -> torch.Tensor:
    return decoder.generate(inputs, **{"min_new_tokens": None, "watch": Listener(), **options})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("length", [1, 2, 9])
def test_the_same_greedy_tokens(name: str, length: int, device: Device) -> None:
    model, inputs = build(name), prompt(length)
    expected = plain(model, inputs, max_new_tokens=NEW)
    assert torch.equal(own(decoder_of(model, device), inputs, max_new_tokens=NEW), expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_in_half_precision_no_further_from_float32_than_the_original(
    name: str, dtype: torch.dtype, device: Device
) -> None:
    inputs = prompt(24)
    ids = inputs["input_ids"]
    with torch.no_grad():
        exact = build(name)(**inputs).logits[0, 8:]
        model = build(name, dtype)
        cache = model(input_ids=ids[:, :9], use_cache=True)
        kept, original = cache.cache, [cache.logits[:, -1]]
        for i in range(9, 24):
            original.append(model(input_ids=ids[:, i : i + 1], cache=kept).logits[:, -1])
        decoder = decoder_of(model, device)
        seen = [decoder.prefill({"input_ids": ids[:, :9]}, 24)]
        seen += [decoder.step(ids[0, i : i + 1]) for i in range(9, 24)]
    theirs, ours = (float((torch.cat(rows).float() - exact).norm()) for rows in (original, seen))
    assert ours <= 1.25 * theirs


def test_a_second_answer_does_not_see_the_first(device: Device) -> None:
    decoder = decoder_of(build("hybrid"), device)
    first = own(decoder, prompt(), max_new_tokens=12)
    own(decoder, prompt(5, seed=2), max_new_tokens=12)
    assert torch.equal(own(decoder, prompt(), max_new_tokens=12), first)


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_held_once_and_the_original_goes_on_working(name: str, device: Device) -> None:
    model, inputs = build(name), prompt()
    expected = plain(model, inputs, max_new_tokens=12)
    before = storage_bytes(model)
    decoder_of(model, device)
    assert storage_bytes(model) == before
    assert torch.equal(plain(model, inputs, max_new_tokens=12), expected)


def storage_bytes(model: Any) -> int:
    storages = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in model.parameters()}
    return sum(storages.values())


# --- how an answer ends


def test_eos_ends_an_answer_unless_the_length_is_fixed(device: Device) -> None:
    model, inputs = build("llama"), prompt()
    eos = int(plain(model, inputs, max_new_tokens=8)[0, -1])
    model.generation_config.eos_token_id = [eos, VOCABULARY - 1]
    decoder = decoder_of(model, device)
    for lengths in ({"max_new_tokens": 20}, {"max_new_tokens": 20, "min_new_tokens": 20}):
        assert torch.equal(own(decoder, inputs, **lengths), plain(model, inputs, **lengths))
    assert own(decoder, inputs, max_new_tokens=20, min_new_tokens=20).shape[1] == 29
    assert own(decoder, inputs, max_new_tokens=20).shape[1] <= 17


def test_the_watch_is_told_every_token_and_may_stop(device: Device) -> None:
    decoder, inputs, watch = decoder_of(build("qwen2, with biases"), device), prompt(), Listener(limit=4)
    heard: list[torch.Tensor] = []
    tokens = own(decoder, inputs, max_new_tokens=20, watch=watch, on_logits=heard.append)
    assert torch.equal(torch.cat([watch.told[0][0], *watch.told[1:]]), tokens[0])
    assert tokens.shape[1] == 9 + 4
    assert [int(logits.argmax()) for logits in heard] == tokens[0, 9:].tolist()
    assert watch.ended


@pytest.mark.parametrize(
    ("settings", "choosing", "changes"),
    [
        ({}, {"do_sample": True}, {}),
        ({"do_sample": True}, {}, {}),
        ({"repetition_penalty": 1.2}, {}, {}),
        ({"repetition_penalty": 1.0}, {"repetition_penalty": 1.1}, {}),
        ({"no_repeat_ngram_size": 2}, {}, {}),
        ({}, {}, {"input_ids": torch.zeros(2, 9, dtype=torch.int64)}),
        ({}, {}, {"attention_mask": torch.tensor([[0] + [1] * 8])}),
    ],
)
def test_generate_serves_what_the_loop_does_not(
    settings: dict[str, Any], choosing: dict[str, Any], changes: dict[str, Any], device: Device
) -> None:
    model = build("llama")
    decoder = decoder_of(model, device)
    assert decoder.serves(prompt(), {"do_sample": False})
    for name, value in settings.items():
        setattr(model.generation_config, name, value)
    assert not decoder.serves({**prompt(), **changes}, choosing)


# --- what it does not recognise, or what proves unequal


def doubled(module: Any) -> None:
    original = module.forward
    module.forward = lambda *arguments, **named: 2 * original(*arguments, **named)


@pytest.mark.parametrize("place", ["model.embed_tokens", "model.layers.1.mlp", "lm_head"])
def test_what_computes_otherwise_is_left_alone(place: str, device: Device) -> None:
    model = build("llama")
    doubled(model.get_submodule(place))
    assert "its logits differ from the original's" in refusal(model, device)


def test_a_norm_that_is_none_is_left_alone(device: Device) -> None:
    model = build("llama")
    doubled(model.model.norm)
    assert refusal(model, device) == "LlamaRMSNorm computes no RMS norm that is known"


def test_a_part_that_is_not_known_is_named(device: Device) -> None:
    model = build("llama")
    model.model.layers[0].self_attn.sinks = torch.nn.Linear(2, 2)
    assert refusal(model, device) == "LlamaAttention has sinks"


def test_a_layer_that_replaces_a_linear_map_is_left_alone(device: Device) -> None:
    model = build("llama")

    class Adapted(torch.nn.Linear):
        pass

    model.model.layers[0].mlp.down_proj = Adapted(96, 64, bias=False)
    assert refusal(model, device) == "Adapted is not a plain linear map"


def test_a_norm_over_all_heads_is_left_alone(device: Device) -> None:
    model = build("qwen3, with norms of heads")
    model.model.layers[0].self_attn.q_norm.weight = torch.nn.Parameter(torch.ones(128))
    assert refusal(model, device) == "Qwen3RMSNorm norms 128 values, not 32"


def test_what_fails_on_the_probe_is_left_alone(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Rotation, position: int) -> torch.Tensor:
        raise IndexError("no such position")

    monkeypatch.setattr(Rotation, "at", fail)
    reason = "it fails where the original does not: IndexError: no such position"
    assert refusal(build("llama"), device) == reason


def test_a_window_is_left_alone(device: Device) -> None:
    model = build("llama")
    model.model.layers[0].self_attn.sliding_window = 4
    assert refusal(model, device) == "its attention slides over a window"


def test_a_model_of_another_kind_is_left_alone(device: Device) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2)).eval()
    assert refusal(model, device) == "0 of its modules have embed_tokens, layers, norm, rotary_emb"
