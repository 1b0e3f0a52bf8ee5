"""One answer as people and programs see it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from npukit.thinking import split


class Piece(NamedTuple):
    """What an answer grew by."""

    reasoning: str
    text: str


@dataclass(frozen=True)
class Answer:
    """``finish`` is stop, length or cancelled. ``ttft_ms`` runs from the question to the first token, the
    preparation of pictures included; ``tokens_per_s`` is the rate after it, None for a single token."""

    text: str
    reasoning: str
    finish: str
    prompt_tokens: int
    new_tokens: int
    ttft_ms: float
    total_ms: float
    tokens_per_s: float | None
    token_ids: list[int]

    @classmethod
    def from_measured(cls, measured: Mapping[str, Any]) -> Answer:
        """From what the worker's generate gives."""
        reasoning, text = split(measured["text"])
        token_ms = measured["token_ms"]
        span_s = (token_ms[-1] - token_ms[0]) / 1e3 if token_ms else 0.0
        return cls(
            text=text.strip(),
            reasoning=reasoning,
            finish=measured["finish"],
            prompt_tokens=measured["prompt_tokens"],
            new_tokens=len(measured["token_ids"]),
            ttft_ms=measured["prepare_ms"] + (token_ms[0] if token_ms else measured["total_ms"]),
            total_ms=measured["prepare_ms"] + measured["total_ms"],
            tokens_per_s=(len(token_ms) - 1) / span_s if span_s > 0 else None,
            token_ids=list(measured["token_ids"]),
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
