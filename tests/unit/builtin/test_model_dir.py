"""The files of the embedded model, looked at without torch."""

import json
import math
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from npukit.builtin import PICTURES, model_dir
from npukit.builtin.questions import ABOUT_PICTURES, NUMBERS

MODEL = model_dir("tiny-minicpm-v")
TOKENIZER = Tokenizer.from_file(str(MODEL / "tokenizer.json"))


def test_model_and_pictures_are_small() -> None:
    files = [file for folder in (MODEL, PICTURES) for file in folder.iterdir()]
    assert sum(file.stat().st_size for file in files) <= 3_000_000


def test_a_hub_repositorys_files_are_there() -> None:
    assert {file.name for file in MODEL.iterdir()} == {
        "README.md",
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "processor_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_it_is_not_taken_for_the_published_model() -> None:
    assert "**not** MiniCPM-V-4.6" in (MODEL / "README.md").read_text("utf-8")


def test_the_weights_are_half_precision_and_about_a_thousandth() -> None:
    with (MODEL / "model.safetensors").open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    header.pop("__metadata__")
    assert {entry["dtype"] for entry in header.values()} == {"F16"}
    parameters = sum(math.prod(entry["shape"]) for entry in header.values())
    assert 1e-4 < parameters / 1_300_428_016 < 1e-3


def test_the_published_models_traits_are_kept() -> None:
    config = json.loads((MODEL / "config.json").read_text("utf-8"))
    text, vision = config["text_config"], config["vision_config"]
    assert config["architectures"] == ["MiniCPMV4_6ForConditionalGeneration"]
    assert text["layer_types"] == ["linear_attention"] * 3 + ["full_attention"]
    assert 0 <= config["insert_layer_id"] < vision["num_hidden_layers"] - 1
    assert TOKENIZER.get_vocab_size() <= text["vocab_size"]
    assert TOKENIZER.id_to_token(config["image_token_id"]) == "<|image_pad|>"


def test_generation_ends_at_the_end_of_a_turn() -> None:
    generation = json.loads((MODEL / "generation_config.json").read_text("utf-8"))
    assert TOKENIZER.id_to_token(generation["eos_token_id"]) == "<|im_end|>"
    assert TOKENIZER.id_to_token(generation["pad_token_id"]) == "<|endoftext|>"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_from_the_tokenizer(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text).ids, skip_special_tokens=False) == text


@pytest.mark.parametrize("question", ABOUT_PICTURES)
def test_the_lessons_words_are_one_token_each(question: str) -> None:
    words = question.replace("?", " ?").split()
    assert len(TOKENIZER.encode(question).ids) == len(words)
    assert all(len(TOKENIZER.encode(number).ids) == 1 for number in NUMBERS)


def test_another_name_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        model_dir("MiniCPM-V-4.6")


def test_paths_and_drawings_do_not_import_torch() -> None:
    code = "import sys, npukit.builtin.gallery, npukit.builtin.questions; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
