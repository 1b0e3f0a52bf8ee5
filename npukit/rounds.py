"""Whether one bench result is faster than another: the ratio of paired rounds with its interval. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from npukit.fingerprint import differences
from npukit.performance import batch
from npukit.samples import percentile

RESAMPLES = 2000
CONFIDENCE = 0.95
# What a repeated run on a quiet machine moves by, rounds' noise apart: less is never called a difference.
BETWEEN_RUNS = 0.05
# how long was measured, not what: these may differ
EXTENT = frozenset({"warmup", "rounds", "seconds", "sustained_tokens"})


@dataclass(frozen=True)
class Ratio:
    """How many times the second is as fast as the first. ``low`` and ``high`` bound the ratio's bootstrap
    interval, widened by what separate runs move; ``pairs`` rounds went into it."""

    ratio: float
    low: float
    high: float
    pairs: int

    @property
    def verdict(self) -> str:
        if self.low > 1:
            return "faster"
        return "slower" if self.high < 1 else "no difference seen"

    def to_json(self) -> dict[str, Any]:
        method = {"confidence": CONFIDENCE, "resamples": RESAMPLES, "between_runs": BETWEEN_RUNS}
        return {**asdict(self), "verdict": self.verdict, **method}


def ratio(first_ms: Sequence[float], second_ms: Sequence[float], seed: int = 0) -> Ratio:
    """Times of rounds, paired in order; the longer list's rest is left out. Raises ValueError without any.

    Rounds in a row are alike (clocks, load), so blocks of them are drawn, not single ones.
    """
    pairs = list(zip(first_ms, second_ms, strict=False))
    if not pairs:
        raise ValueError("no rounds")
    chance, size = random.Random(seed), math.isqrt(len(pairs))
    blocks = math.ceil(len(pairs) / size)
    sums = [
        (math.fsum(a for a, _ in block), math.fsum(b for _, b in block))
        for block in (pairs[start : start + size] for start in range(len(pairs) - size + 1))
    ]
    drawn = sorted(_of(chance.choices(sums, k=blocks)) for _ in range(RESAMPLES))
    tail = (1 - CONFIDENCE) / 2
    return Ratio(
        ratio=_of(pairs),
        low=percentile(drawn, tail) / (1 + BETWEEN_RUNS),
        high=percentile(drawn, 1 - tail) * (1 + BETWEEN_RUNS),
        pairs=len(pairs),
    )


def _of(pairs: Sequence[tuple[float, float]]) -> float:
    return math.fsum(a for a, _ in pairs) / math.fsum(b for _, b in pairs)


def differing(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """In words what two results' inputs differ in, the extent of the measurement aside."""
    kept = [{k: v for k, v in inputs.items() if k not in EXTENT} for inputs in (first, second)]
    return differences(*kept)


def round_ms(measured: Mapping[str, Any]) -> dict[str, list[float]]:
    """Milliseconds of every round for each token of the batch: whole, to the first token, and decoding."""
    rows, prompts = measured["rounds"], batch(measured)
    return {
        "end to end": [row["total_ms"] / row["tokens"] / prompts for row in rows],
        "first token": [row["ttft_ms"] for row in rows],
        "decode": [row["decode_ms"] / max(1, row["tokens"] - 1) / prompts for row in rows],
    }
