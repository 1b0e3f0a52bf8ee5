"""A prompt has exactly the length and number that were asked for, and pictures stay whole."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from npukit.errors import NpukitError
from npukit.measures.workload import repeated, sized


def text(tokens: int) -> dict[str, torch.Tensor]:
    ids = torch.arange(tokens)[None]
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def pictures() -> dict[str, torch.Tensor]:
    return {
        **text(5),
        "mm_token_type_ids": torch.tensor([[0, 1, 1, 0, 0]]),
        "pixel_values": torch.rand(1, 3, 2, 8),
        "target_sizes": torch.tensor([[2, 2]]),
    }


@given(st.integers(1, 20), st.integers(0, 60), st.lists(st.integers(100, 110), min_size=1, max_size=7))
def test_a_text_of_any_length(have: int, asked: int, filler: list[int]) -> None:
    made = sized(text(have), asked, filler)
    length = asked or have
    assert made["input_ids"].shape == made["attention_mask"].shape == (1, length)
    assert made["attention_mask"].all()
    kept = min(have, length)
    assert made["input_ids"][0, :kept].tolist() == list(range(kept))
    assert set(made["input_ids"][0, kept:].tolist()) <= set(filler)


def test_pictures_are_kept_and_followed_by_text() -> None:
    given_ = pictures()
    made = sized(given_, 7, [9])
    assert made["input_ids"].tolist() == [[0, 1, 2, 3, 4, 9, 9]]
    assert made["mm_token_type_ids"].tolist() == [[0, 1, 1, 0, 0, 0, 0]]
    assert made["pixel_values"] is given_["pixel_values"]


def test_pictures_are_not_cut() -> None:
    with pytest.raises(NpukitError) as raised:
        sized(pictures(), 4, [9])
    assert raised.value.code == "bench.prompt-too-long"


def test_a_batch_repeats_text_and_packs_pictures() -> None:
    made = repeated(pictures(), 3)
    assert made["input_ids"].shape == (3, 5)
    assert made["target_sizes"].tolist() == [[2, 2]] * 3
    assert made["pixel_values"].shape == (1, 3, 2, 24)
