"""verify: tokenizer, chat template, special tokens, and image tokens against features."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from npukit.checks import judged, named
from npukit.results import Check

# models pad their embedding for speed, but not by this much
MIN_FILLED = 0.75
OWN_TOKENIZER = "npukit fetch --force   # tokenizer files and weights must come from one revision"


def word_checks(words: Mapping[str, Any]) -> list[Check]:
    return [_range(words), _round_trips(words["round_trips"]), *_template(words), *_special(words)]


def _range(words: Mapping[str, Any]) -> Check:
    tokens, rows, largest = words["tokens"], words["embedding_rows"], words["largest_id"]
    return judged(
        "tokenizer.fits",
        largest < rows and MIN_FILLED * rows <= tokens <= rows,
        f"as many tokens as the embedding has rows, {rows}, or a little fewer",
        f"{tokens} tokens, largest id met {largest}",
        cause="the tokenizer is another model's",
        remedy=OWN_TOKENIZER,
    )


def _round_trips(trips: Mapping[str, Mapping[str, Any]]) -> Check:
    def same(trip: Mapping[str, Any]) -> bool:
        return _spaceless(trip["text"]) == _spaceless(trip["back"]) and not trip["unknown"]

    broken = [f"{name}: {trip['back']!r}" for name, trip in trips.items() if not same(trip)]
    # a tokenizer may know one language only, and say so by its unknown token
    lost = [name for name, trip in trips.items() if trip["unknown"]]
    changed = [text for text in broken if text.split(":")[0] not in lost]
    return judged(
        "tokenizer.round-trip",
        not changed and "english" not in lost,
        f"{len(trips)} texts come back as they went in, spaces aside",
        f"{len(trips) - len(broken)} did{named(broken)}",
        cause="the tokenizer drops or changes characters: files mixed, or its class is wrong",
        remedy=OWN_TOKENIZER,
    )


def _spaceless(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _template(words: Mapping[str, Any]) -> list[Check]:
    template = words["template"]
    if template is None:
        return [judged("template", None, "a chat template", "the tokenizer has none: a base model")]
    faults = [
        *([] if template["holds_message"] else ["it drops the message"]),
        *([] if template["opens_turn"] else ["it does not open the assistant's turn"]),
        *([] if template["back_the_same"] else ["its text does not survive the tokenizer"]),
        *(["it begins with two bos"] if template["bos_twice"] else []),
        *([f"not single tokens{named(template['split_marks'])}"] if template["split_marks"] else []),
    ]
    return [
        judged(
            "template",
            not faults,
            "the chat template holds the message, opens the answer, and its marks are single tokens",
            "; ".join(faults) or "it does",
            cause="the template is another model's, or special tokens are missing from the tokenizer",
            remedy=OWN_TOKENIZER,
        )
    ]


def _special(words: Mapping[str, Any]) -> list[Check]:
    special, rows = words["special"], words["embedding_rows"]
    ids = [*special["eos"], *([] if special["pad"] is None else [special["pad"]])]
    outside = [str(one) for one in ids if not 0 <= one < rows]
    own = special["tokenizer_eos"]
    stops = bool(special["eos"]) and (own is None or own in special["eos"])
    return [
        judged(
            "special.in-range",
            not outside,
            f"eos and pad are rows of the embedding, below {rows}",
            f"eos {special['eos']}, pad {special['pad']}",
            cause="config.json or generation_config.json is another model's",
            remedy=OWN_TOKENIZER,
        ),
        judged(
            "special.eos",
            stops,
            "generation stops at an eos, the tokenizer's among them",
            f"generation stops at {special['eos'] or 'nothing'}, the tokenizer's eos is {own}",
            cause="answers never end, or end elsewhere than the model was taught",
            remedy="npukit patch --list   # generation_config.json can be rewritten by the recipe",
        ),
    ]


def image_checks(rows: list[dict[str, Any]] | None) -> list[Check]:
    expected = "as many image tokens as vision features"
    if rows is None:
        return [judged("images.tokens", None, expected, "the model takes no pictures")]
    apart = [
        f"{row['shape']} {row['mode']}: {row['tokens']} tokens, {row['features']} features"
        for row in rows
        if row["tokens"] != row["features"] or not row["tokens"]
    ]
    modes = ", ".join(sorted({row["mode"] for row in rows if row["mode"]})) or "the one mode"
    return [
        judged(
            "images.tokens",
            not apart,
            f"{expected}: square, wide, tall and sliced, {modes}",
            f"{len(rows) - len(apart)} of {len(rows)} agree{named(apart)}",
            cause="width and height are swapped, or the processor and the model use another downsampling",
            remedy='inputs = { downsample_mode = "16x" } under [generation] in the recipe goes to both sides',
        )
    ]
