"""The tokenizer, the chat template and the special tokens: what goes in is what comes out."""

from __future__ import annotations

import re
from typing import Any

from npukit.session import Session

ROUND_TRIPS = {
    "english": "The quick brown fox jumps over the lazy dog, 3 times.",
    "chinese": "今天天气很好，我们去公园吧。",
    "code": "def add(a, b):\n    return a + b\n",
    "symbols": "café — 100 °C, 5 € 😀",
}
MARKER = "npukit 你好 42"
MARK = re.compile(r"<[|｜]?[A-Za-z_▁][\w▁ /.-]*[|｜]?>")  # the shape of a special token in a template


def measure_words(session: Session, has_template: bool) -> dict[str, Any]:
    """Round trips of the tokenizer, the template's rendering, and the ids of eos and pad."""
    tokenizer = session.task.tokenizer
    embedding = session.model.get_input_embeddings().weight.shape[0]
    trips = {name: _round_trip(tokenizer, text) for name, text in ROUND_TRIPS.items()}
    return {
        "tokens": len(tokenizer),
        "embedding_rows": embedding,
        "largest_id": max(max(trip["ids"], default=0) for trip in trips.values()),
        "round_trips": {name: {k: v for k, v in trip.items() if k != "ids"} for name, trip in trips.items()},
        "template": _template(tokenizer) if has_template else None,
        "special": _special(session, tokenizer),
    }


def _round_trip(tokenizer: Any, text: str) -> dict[str, Any]:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    back = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    unknown = tokenizer.unk_token_id
    return {"ids": ids, "text": text, "back": back, "unknown": sum(one == unknown for one in ids)}


def _template(tokenizer: Any) -> dict[str, Any]:
    """What the chat template makes of one message: is it there, is the turn opened, do marks stay whole."""
    messages = [{"role": "user", "content": MARKER}]
    closed = tokenizer.apply_chat_template(messages, tokenize=False)
    opened = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(opened, add_special_tokens=False)["input_ids"]
    marks = sorted(set(MARK.findall(opened.replace(MARKER, ""))))
    known = tokenizer.get_vocab()
    bos = tokenizer.bos_token
    return {
        "holds_message": MARKER in opened,
        "opens_turn": opened != closed and opened.startswith(closed.rstrip("\n")),
        "back_the_same": tokenizer.decode(ids, clean_up_tokenization_spaces=False) == opened,
        "split_marks": [mark for mark in marks if mark not in known],
        # encoding a rendered prompt adds no second bos only because add_special_tokens is off
        "bos_twice": bool(bos and opened.startswith(bos + bos)),
    }


def _special(session: Session, tokenizer: Any) -> dict[str, Any]:
    generation = session.model.generation_config
    eos = generation.eos_token_id
    return {
        "eos": [] if eos is None else sorted(eos) if isinstance(eos, (list, tuple)) else [eos],
        "tokenizer_eos": tokenizer.eos_token_id,
        "pad": generation.pad_token_id if generation.pad_token_id is not None else tokenizer.pad_token_id,
        "image_token": getattr(session.config, "image_token_id", None),
    }
