from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from npukit.devices.base import Memory
from npukit.errors import NpukitError
from npukit.room import cache_bytes_per_token, check_memory, new_tokens_that_fit


def config(**text: Any) -> Any:
    inner = SimpleNamespace(**{"hidden_size": 64, "num_attention_heads": 4, **text})
    return SimpleNamespace(get_text_config=lambda: inner)


def test_an_answer_is_shortened_to_what_is_left() -> None:
    model = config(max_position_embeddings=100)
    assert new_tokens_that_fit(model, 40, 10, 1) == 10
    assert new_tokens_that_fit(model, 95, 10, 1) == 5
    assert new_tokens_that_fit(config(), 10**9, 10, 1) == 10  # nothing is known of this one


@pytest.mark.parametrize(("prompt", "least"), [(100, 1), (500, 1), (95, 10)])
def test_no_place_for_an_answer_is_an_overflow(prompt: int, least: int) -> None:
    with pytest.raises(NpukitError, match="tokens") as caught:
        new_tokens_that_fit(config(max_position_embeddings=100), prompt, 10, least)
    assert caught.value.code == "generate.context-overflow"


def test_only_layers_that_keep_everything_count() -> None:
    full = config(num_hidden_layers=2, num_key_value_heads=2, head_dim=16)
    assert cache_bytes_per_token(full, 2) == 2 * 2 * 2 * 16 * 2
    hybrid = config(layer_types=["linear_attention", "full_attention"], num_key_value_heads=2, head_dim=16)
    assert cache_bytes_per_token(hybrid, 2) == 2 * 1 * 2 * 16 * 2
    latent = config(num_hidden_layers=2, kv_lora_rank=32, qk_rope_head_dim=8)
    assert cache_bytes_per_token(latent, 2) == 2 * 40 * 2


def test_memory_that_is_not_there_is_noticed_beforehand() -> None:
    model = config(num_hidden_layers=2)
    memory = Memory(100, 150, 0, None, 900, 1000)  # 100 free, 50 more held idle
    each = cache_bytes_per_token(model, 1)
    check_memory(model, memory, 150 // each, 1)
    with pytest.raises(NpukitError) as caught:
        check_memory(model, memory, 150 // each + 1, 1)
    assert caught.value.code == "generate.no-memory"
    caught.value.message("en"), caught.value.message("zh")
    check_memory(model, Memory(0, None, 0, None, None, None), 10**9, 1)  # a device that does not tell
