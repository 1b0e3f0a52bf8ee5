"""Whether a prompt and its answer fit: the model's positions, and the device's memory for keys and values."""

from __future__ import annotations

from typing import Any

from npukit.devices.base import Memory
from npukit.errors import NpukitError


def position_limit(config: Any) -> int | None:
    """How many positions the model was made for; None where its config does not say."""
    limit = getattr(config.get_text_config(), "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None


def new_tokens_that_fit(config: Any, prompt_tokens: int, wanted: int, least: int) -> int:
    """``wanted`` or what is left of the context. Raises NpukitError ``generate.context-overflow``."""
    limit = position_limit(config)
    if limit is None:
        return wanted
    left = limit - prompt_tokens
    if left < max(1, least):
        raise NpukitError("generate.context-overflow", prompt_tokens=prompt_tokens, least=least, limit=limit)
    return min(wanted, left)


def check_memory(config: Any, memory: Memory, tokens: int, value_bytes: int) -> None:
    """Raises NpukitError ``generate.no-memory`` when keys and values of ``tokens`` exceed what is free."""
    if memory.total_bytes is None or memory.used_bytes is None:
        return
    idle = (memory.reserved_bytes or memory.allocated_bytes) - memory.allocated_bytes
    free = memory.total_bytes - memory.used_bytes + idle
    needed = cache_bytes_per_token(config, value_bytes) * tokens
    if needed > free:
        raise NpukitError("generate.no-memory", tokens=tokens, needed=needed / 1e9, free=free / 1e9)


def cache_bytes_per_token(config: Any, value_bytes: int) -> int:
    """Keys and values of one token in every layer that keeps them all, at the least."""
    text = config.get_text_config()
    layers = getattr(text, "layer_types", None) or ["full_attention"] * getattr(text, "num_hidden_layers", 0)
    keeping = sum(kind == "full_attention" for kind in layers)
    compressed = getattr(text, "kv_lora_rank", None)
    if compressed:
        return keeping * (compressed + getattr(text, "qk_rope_head_dim", 0)) * value_bytes
    heads = getattr(text, "num_attention_heads", None) or 0
    kept = getattr(text, "num_key_value_heads", None) or heads
    width = getattr(text, "head_dim", None) or (text.hidden_size // heads if heads else 0)
    return 2 * keeping * kept * width * value_bytes
