"""Planted faults: each is found by the check that its row names, with words that help. None on sound models.

Faults in files are shared by reference and candidate, so a quality check on a trained model must find them;
faults in code are found against a capture of the clean code.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npukit.recipe import Prompt
from tests.fixtures.in_process import InProcess
from tests.fixtures.tiny_models import build_model, build_tokenizer, save, train

pytestmark = pytest.mark.torch
LIMIT = 1.1  # of the clean model's own perplexity


@dataclasses.dataclass(frozen=True)
class Clean:
    """A trained model, its questions with the limits of a careful recipe, and captures of the clean code."""

    asked: InProcess
    fp32: Path
    fp64: Path
    bf16: Path


def careful(asked: InProcess, config: dict[str, Any]) -> InProcess:
    """With the limits that a recipe's author would take from the clean model."""
    quality = asked.verify().measured["quality"]["lesson"]
    verify = dataclasses.replace(
        asked.recipe.verify, config=config, max_perplexity={"lesson": LIMIT * quality["perplexity"]}
    )
    asked.recipe = dataclasses.replace(asked.recipe, verify=verify)
    return asked


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Clean:
    scratch = tmp_path_factory.mktemp("clean")
    tokenizer = build_tokenizer()
    model = build_model("llama", rope_theta=100.0)
    assert train(model, tokenizer, steps=120) < 0.3
    directory = save(model, tokenizer, scratch / "llama")
    asked = careful(InProcess(directory, scratch), {"rope_parameters.rope_theta": 100.0})
    return Clean(
        asked,
        asked.capture("fp32", attention="eager"),
        asked.capture("fp64", dtype="float64", attention="eager"),
        asked.capture("bf16", dtype="bfloat16", attention="eager"),
    )


def test_the_clean_model_passes(clean: Clean) -> None:
    assert clean.asked.verify(layers=True).failed == set()
    for dtype in ("bfloat16", "float16"):
        floor = clean.asked.capture(dtype, dtype=dtype, attention="eager")
        assert clean.asked.accuracy(clean.fp32, floor, dtype=dtype, attention="sdpa").failed == set()
    same = clean.asked.accuracy(clean.fp32, clean.fp64, of="reference", attention="sdpa")
    assert same.failed == set()


# --- in the files


def edit_tensors(directory: Path, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    from safetensors.torch import load_file, save_file

    path = directory / "model.safetensors"
    save_file(edit(load_file(path)), path, metadata={"format": "pt"})


def zero_a_weight(directory: Path) -> None:
    def edit(tensors: dict[str, Any]) -> dict[str, Any]:
        tensors["model.layers.1.self_attn.o_proj.weight"].zero_()
        return tensors

    edit_tensors(directory, edit)


def swap_two_layers(directory: Path) -> None:
    swap = {"model.layers.0.": "model.layers.1.", "model.layers.1.": "model.layers.0."}

    def renamed(name: str) -> str:
        return next((b + name.removeprefix(a) for a, b in swap.items() if name.startswith(a)), name)

    edit_tensors(directory, lambda tensors: {renamed(name): one for name, one in tensors.items()})


def rename_the_prefix(directory: Path) -> None:
    edit_tensors(directory, lambda tensors: {f"transformer.{name}": one for name, one in tensors.items()})


def drop_a_config_key(directory: Path) -> None:
    path = directory / "config.json"
    config = json.loads(path.read_text("utf-8"))
    del config["rope_parameters"]
    path.write_text(json.dumps(config), "utf-8")


def give_another_tokenizer(directory: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet(), reverse=True)
    vocabulary = {token: number for number, token in enumerate(["<pad>", "<eos>", *alphabet])}
    bpe = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<eos>", pad_token="<pad>").save_pretrained(
        directory
    )


FILE_FAULTS = [
    (zero_a_weight, "load.constant", "the file was cut or edited"),
    (swap_two_layers, "quality.perplexity.lesson", "weights, tokenizer or code"),
    (rename_the_prefix, "headers.unexpected", "a prefix too many: 'transformer'"),
    (drop_a_config_key, "config.wanted", "the default of the class was taken"),
    (give_another_tokenizer, "answers.keywords", "weights, processor or template"),
]


@pytest.mark.parametrize(
    ("plant", "check", "words"), FILE_FAULTS, ids=[row[0].__name__ for row in FILE_FAULTS]
)
def test_faults_in_files(
    plant: Callable[[Path], None], check: str, words: str, clean: Clean, tmp_path: Path
) -> None:
    directory = tmp_path / "broken"
    shutil.copytree(clean.asked.directory, directory)
    plant(directory)
    found = clean.asked.moved(directory).verify()
    assert check in found.failed, found.failed
    assert words in found[check].cause
    assert found[check].remedy


# --- in the code


def make_the_mask_boolean(patch: pytest.MonkeyPatch) -> None:
    from transformers.models.llama import modeling_llama

    whole = modeling_llama.eager_attention_forward

    def attention(module: Any, q: Any, k: Any, v: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        return whole(module, q, k, v, None if mask is None else mask.bool().to(q.dtype), *args, **kwargs)

    patch.setattr(modeling_llama, "eager_attention_forward", attention)


def overflow_in_one_layer(patch: pytest.MonkeyPatch) -> None:
    import torch
    from transformers.models.llama.modeling_llama import LlamaMLP

    forward = LlamaMLP.forward
    calls = iter(range(10**9))

    def half(self: Any, x: Any) -> Any:
        y = forward(self, x)
        if next(calls) % 3 != 1:
            return y
        return ((y * 1e8).to(torch.float16) / 1e8).to(y.dtype)  # 65504 is the end of float16

    patch.setattr(LlamaMLP, "forward", half)


def count_positions_from_one_when_decoding(patch: pytest.MonkeyPatch) -> None:
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    forward = LlamaRotaryEmbedding.forward

    def shifted(self: Any, x: Any, position_ids: Any) -> Any:
        return forward(self, x, position_ids + 1 if position_ids.shape[-1] == 1 else position_ids)

    patch.setattr(LlamaRotaryEmbedding, "forward", shifted)


def leave_hf32_on(patch: pytest.MonkeyPatch) -> None:
    """What HF32 does to a product of float32: about 12 bits of mantissa are left of either side."""
    import torch

    linear = torch.nn.functional.linear

    def rounded(x: torch.Tensor) -> torch.Tensor:
        return (x.view(torch.int32) & ~0xFFF).view(torch.float32) if x.dtype == torch.float32 else x

    def reduced(x: Any, weight: Any, bias: Any = None) -> Any:
        return linear(rounded(x.contiguous()), rounded(weight), bias)

    patch.setattr(torch.nn.functional, "linear", reduced)


def run_in_float32_silently(patch: pytest.MonkeyPatch) -> None:
    from npukit.session import Session

    load = Session.load

    def quiet(spec: Any, device: Any) -> Any:
        session = load(spec, device)
        session.model.float()
        return session

    patch.setattr(Session, "load", quiet)


CODE_FAULTS = [
    (make_the_mask_boolean, "bfloat16", "accuracy.noise-floor", "more than rounding"),
    (overflow_in_one_layer, "bfloat16", "accuracy.finite", "an overflow"),
    (count_positions_from_one_when_decoding, "bfloat16", "accuracy.noise-floor", "more than rounding"),
    (leave_hf32_on, "float32", "accuracy.noise-floor", "more than rounding"),
    (run_in_float32_silently, "bfloat16", "accuracy.dtype-ran", "never ran in this dtype"),
]


@pytest.mark.parametrize(
    ("plant", "dtype", "check", "words"), CODE_FAULTS, ids=[row[0].__name__ for row in CODE_FAULTS]
)
def test_faults_in_code(
    plant: Callable[[pytest.MonkeyPatch], None],
    dtype: str,
    check: str,
    words: str,
    clean: Clean,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    floor, of = (clean.fp64, "reference") if dtype == "float32" else (clean.bf16, "candidate")
    found = clean.asked.accuracy(clean.fp32, floor, of=of, dtype=dtype, attention="eager")
    assert check in found.failed, {name: c.observed for name, c in found.by_id.items()}
    assert words in found[check].cause
    assert found[check].remedy


def test_a_float_mask_made_boolean_under_sdpa(clean: Clean, monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks that are added are sound, as of a model with biases, until sdpa takes them for booleans."""
    import torch
    from transformers import masking_utils

    sdpa = torch.nn.functional.scaled_dot_product_attention

    def boolean(q: Any, k: Any, v: Any, attn_mask: Any = None, **kwargs: Any) -> Any:
        if attn_mask is not None and attn_mask.is_floating_point():
            attn_mask = attn_mask.bool()
        return sdpa(q, k, v, attn_mask=attn_mask, **kwargs)

    masks = masking_utils.ALL_MASK_ATTENTION_FUNCTIONS._global_mapping
    monkeypatch.setitem(masks, "sdpa", masking_utils.eager_mask)

    def compared() -> Any:
        return clean.asked.accuracy(clean.fp32, clean.bf16, dtype="bfloat16", attention="sdpa")

    assert compared().failed == set()
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", boolean)
    found = compared()
    assert "accuracy.noise-floor" in found.failed
    assert "more than rounding" in found["accuracy.noise-floor"].cause
    verified = clean.asked.verify(attention="sdpa")
    assert "attention.agrees" in verified.failed
    assert 'attention = "eager"' in verified["attention.agrees"].remedy


# --- pictures


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Clean:
    from npukit.builtin import model_dir, picture

    prompts = (Prompt("wide", "What is in this image?", images=(str(picture("two-dogs-wide.png")),)),)
    scratch = tmp_path_factory.mktemp("pictures")
    options = {"downsample_mode": "16x"}
    asked = InProcess(model_dir(), scratch, task="image-text-to-text", prompts=prompts, options=options)
    return Clean(
        asked,
        asked.capture("fp32"),
        asked.capture("fp64", dtype="float64"),
        asked.capture("bf16", dtype="bfloat16"),
    )


def swap_the_channels(patch: pytest.MonkeyPatch) -> None:
    from npukit.tasks import image_text_to_text
    from npukit.tasks.pictures import open_picture

    def swapped(path: str) -> Any:
        from PIL import Image

        red, green, blue = open_picture(path).split()
        return Image.merge("RGB", (blue, green, red))

    patch.setattr(image_text_to_text, "open_picture", swapped)


def swap_width_and_height(patch: pytest.MonkeyPatch) -> None:
    from npukit.tasks.image_text_to_text import ImageTextToText

    encode = ImageTextToText.encode

    def swapped(self: Any, messages: Any, options: Any) -> Any:
        inputs = encode(self, messages, options)
        return (
            {**inputs, "target_sizes": inputs["target_sizes"].flip(-1)}
            if "target_sizes" in inputs
            else inputs
        )

    patch.setattr(ImageTextToText, "encode", swapped)


def test_the_embedded_model_passes_in_float32(pictures: Clean) -> None:
    found = pictures.asked.accuracy(pictures.fp32, pictures.fp64, of="reference", attention="eager")
    assert found.failed == set()
    assert found["accuracy.noise-floor"].passed is True
    total = found.measured["prompts"][0]["total"]
    assert 0 < total["relative_l2"] < 1e-5


@pytest.mark.parametrize("plant", [swap_the_channels, swap_width_and_height])
def test_faults_in_pictures(
    plant: Callable[[pytest.MonkeyPatch], None], pictures: Clean, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pictures.asked.accuracy(pictures.fp32, pictures.bf16, dtype="bfloat16").failed == set()
    plant(monkeypatch)
    found = pictures.asked.accuracy(pictures.fp32, pictures.bf16, dtype="bfloat16")
    assert "accuracy.noise-floor" in found.failed
    assert "more than rounding" in found["accuracy.noise-floor"].cause


# --- experts


@pytest.mark.slow
def test_half_of_the_experts_at_random(tmp_path: Path) -> None:
    import torch

    tokenizer = build_tokenizer()
    model = build_model("deepseek_v4")
    train(model, tokenizer, steps=120)
    asked = careful(InProcess(save(model, tokenizer, tmp_path / "whole"), tmp_path), {})
    assert asked.verify().failed == set()
    torch.manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".experts." in name and parameter.dim() == 3:
                half = parameter[: parameter.shape[0] // 2]
                half.copy_(torch.randn_like(half) * 3 * parameter.std())
    found = asked.moved(save(model, tokenizer, tmp_path / "half")).verify()
    assert "quality.perplexity.lesson" in found.failed
