"""What bench's raw samples mean: rates, shares of the device's limits, what bounds decoding. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from npukit.samples import percentile

SHARE_OF_LIMIT = 0.6  # from here on a limit of the device counts as what bounds
FEW_ROUNDS = 20  # below it the 95th percentile is all but the maximum
DRIFT = 0.10  # between the medians of the first and the last third of the rounds

PHASES = ("prepare", "vision", "prefill", "decode", "detokenise")


def batch(measured: Mapping[str, Any]) -> int:
    """Prompts at once; a round's tokens and times are those of each of them."""
    return int(measured["conditions"].get("batch", 1))  # records of before there were batches have none


def tokens_per_s(measured: Mapping[str, Any]) -> float:
    """New tokens of the whole batch over time of all rounds, end to end: the published tables' throughput."""
    rows = measured["rounds"]
    spent_ms = sum(row["total_ms"] for row in rows)
    return batch(measured) * sum(row["tokens"] for row in rows) / spent_ms * 1e3


def decode_tokens_per_s(measured: Mapping[str, Any]) -> float:
    """Tokens of the whole batch after the first over the time they took, all rounds."""
    return batch(measured) * _rate(measured["rounds"])


def _rate(rows: list[Mapping[str, Any]]) -> float:
    span_ms = sum(row["token_ms"][-1] - row["token_ms"][0] for row in rows)
    tokens = sum(len(row["token_ms"]) - 1 for row in rows)
    return tokens / span_ms * 1e3 if span_ms else 0.0


@dataclass(frozen=True)
class Bound:
    """What decoding waits for. Shares are of the device's measured limits; ``dispatch_us`` is an upper bound
    of the host's time for one operator, since it holds all of the token's time."""

    by: str
    memory_share: float
    compute_share: float
    dispatches: int
    dispatch_us: float
    advice: str


def bound(measured: Mapping[str, Any]) -> Bound:
    """Where decoding stands between the host, the memory and the arithmetic of the device."""
    rate, limits = decode_tokens_per_s(measured), measured["limits"]
    dispatches = sum(measured["dispatches"].values())
    steps = rate / batch(measured)  # the weights are read once, and operators dispatched, for all prompts
    memory = measured["decode_bytes"] * steps / float(limits["read_bytes_per_s"])
    operations = 2 * measured["load"]["parameters"] * rate  # a multiplication and an addition per weight
    compute = operations / float(limits["matmul_flop_per_s"])
    if memory >= SHARE_OF_LIMIT:
        by, advice = (
            "memory",
            "fewer bytes per token: a half-precision dtype, quantised weights, a larger batch",
        )
    elif compute >= SHARE_OF_LIMIT:
        by, advice = "compute", "fewer operations: a faster dtype, or a smaller model"
    else:
        by, advice = "host", "fewer dispatches per token: fused operators, a captured graph, a larger batch"
    return Bound(
        by, memory, compute, dispatches, 1e6 / steps / dispatches if steps and dispatches else 0.0, advice
    )


def warnings(measured: Mapping[str, Any]) -> list[str]:
    """Why the figures should be read with care."""
    totals = [row["total_ms"] for row in measured["rounds"]]
    found = []
    if len(totals) < FEW_ROUNDS:
        found.append(f"p95 of {len(totals)} rounds is all but the slowest one: {FEW_ROUNDS} are needed")
    third = len(totals) // 3
    if third:
        first, last = (percentile(sorted(part), 0.5) for part in (totals[:third], totals[-third:]))
        if abs(last / first - 1) > DRIFT:
            found.append(f"the last rounds took {last / first:.0%} of the first: clocks or load drifted")
    load = measured["load_average"]
    if load["before"] > 0.5 * load["cores"]:
        found.append(f"the machine was busy: load {load['before']:.1f} on {load['cores']} cores")
    return found


def sustained_rates(measured: Mapping[str, Any], parts: int = 5) -> list[float]:
    """Tokens per second in equal parts of the sustained run, first to last."""
    times = measured["sustained"]["token_ms"]
    size = max(2, len(times) // parts)
    return [
        (len(part) - 1) / (part[-1] - part[0]) * 1e3
        for part in (times[i : i + size] for i in range(0, len(times) - size + 1, size))
    ]
