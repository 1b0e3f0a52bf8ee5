"""Figures checked against each other before anything is written. Pure."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from npukit.performance import batch, decode_tokens_per_s, tokens_per_s
from npukit.report.evidence import Evidence
from npukit.results import StageResult
from npukit.samples import summarise

ROUNDING_MS = 0.01
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int8": 1, "uint8": 1}


def contradictions(evidence: Evidence) -> list[str]:
    """What cannot be true at once, in words; empty when the figures agree."""
    faults: list[str] = []
    for judged in evidence.results():
        result = judged.result
        faults += [f"{result.stage}: {fault}" for fault in _one(result)]
    return faults + list(_between(evidence))


def _one(result: StageResult) -> Iterator[str]:
    yield from _device(result)
    if result.stage == "bench":
        yield from _bench(result.measured, result.duration_s)
    if result.stage == "accuracy":
        for row in result.measured["prompts"]:
            yield from (f"{row['prompt']}: {fault}" for fault in _distances(row["total"]))
    load = result.measured.get("load")
    if load:
        yield from _memory(load, result.measured["memory"])


# --- where it ran


def _device(result: StageResult) -> Iterator[str]:
    """The worker's own word against the front's probes (npu-smi, the device asked for)."""
    card = result.measured.get("device")
    if not isinstance(card, Mapping):
        return
    if card["device"] != result.device:
        yield f"the result is of {result.device}, and the worker computed on {card['device']}"
    if result.emulated and not result.device.startswith("npu"):
        yield f"emulated, and on {result.device}"
    probed, reported = result.environment.get("chip", ""), str(card.get("name", ""))
    if probed and reported and not _same_chip(probed, reported):
        yield f"npu-smi tells of {probed}, and torch_npu of {reported}"
    cann = card.get("cann")
    if cann and result.environment.get("cann") and not _same_version(cann, result.environment["cann"]):
        yield f"CANN {result.environment['cann']} on disk, and {cann} in the process"


def _same_chip(left: str, right: str) -> bool:
    """910B3 and Ascend910B3 are one; npu-smi leaves out what follows an underscore (Ascend910_9362)."""
    short = [name.lower().removeprefix("emulated ").removeprefix("ascend").strip() for name in (left, right)]
    return short[0].startswith(short[1].split("_")[0]) or short[1].startswith(short[0].split("_")[0])


def _same_version(left: str, right: str) -> bool:
    numbers = [re.findall(r"\d+", version)[:3] for version in (left, right)]
    return numbers[0] == numbers[1]


# --- speed


def _bench(measured: Mapping[str, Any], duration_s: float) -> Iterator[str]:
    rows = measured["rounds"]
    for index, row in enumerate(rows, 1):
        yield from (f"round {index}: {fault}" for fault in _round(row))
    spent_ms = sum(row["total_ms"] for row in [*measured["warmup"], *rows])
    if spent_ms > duration_s * 1e3 + ROUNDING_MS:
        yield f"the rounds took {spent_ms:.0f} ms, and the whole stage {duration_s * 1e3:.0f} ms"
    totals = summarise([row["total_ms"] for row in rows])
    prompts = batch(measured)
    tokens = prompts * sum(row["tokens"] for row in rows) / len(rows)
    if not math.isclose(tokens_per_s(measured), tokens / totals.mean * 1e3, rel_tol=1e-6):
        yield f"{tokens_per_s(measured):.2f} tokens/s, and {totals.mean:.2f} ms for {tokens:g} tokens"
    each_ms = sum(row["decode_ms"] for row in rows) / sum(row["tokens"] - 1 for row in rows)
    if not math.isclose(decode_tokens_per_s(measured) * each_ms, prompts * 1e3, rel_tol=1e-3):
        yield f"{decode_tokens_per_s(measured):.2f} tokens/s in decoding, and {each_ms:.2f} ms per token"
    if measured["conditions"]["rounds"] < len(rows):
        yield f"{measured['conditions']['rounds']} rounds were asked for, and {len(rows)} are there"
    dtype = measured["conditions"]["dtype"]
    if dtype not in measured["load"]["dtypes"]:
        yield f"{dtype} was asked for, and the parameters are {', '.join(measured['load']['dtypes'])}"


def _round(row: Mapping[str, Any]) -> Iterator[str]:
    times = row["token_ms"]
    if row["tokens"] != len(times):
        yield f"{row['tokens']} tokens, and {len(times)} times of tokens"
    if any(later < earlier for earlier, later in itertools.pairwise(times)):
        yield "a token came before the one it follows"
    parts = sum(row[f"{part}_ms"] for part in ("prepare", "vision", "prefill", "decode", "detokenise"))
    if parts > row["total_ms"] + ROUNDING_MS:
        yield f"the phases take {parts:.2f} ms, and the whole {row['total_ms']:.2f} ms"
    if row["ttft_ms"] > row["total_ms"]:
        yield f"the first token took {row['ttft_ms']:.2f} ms, and the whole {row['total_ms']:.2f} ms"


# --- memory


def _memory(load: Mapping[str, Any], memory: Mapping[str, Any]) -> Iterator[str]:
    """The peak holds at least the weights; nothing is larger than the device."""
    weights = sum(count * BYTES.get(dtype, 1) for dtype, count in load["dtypes"].items())
    if sum(load["dtypes"].values()) != load["parameters"]:
        yield f"{load['parameters']:,} parameters, and {sum(load['dtypes'].values()):,} by dtype"
    phases = [memory] if "peak_allocated_bytes" in memory else list(memory.values())
    peak = max(phase["peak_allocated_bytes"] for phase in phases)
    if peak < weights:
        yield f"the peak is {peak / 1e6:,.1f} MB, and the weights alone are {weights / 1e6:,.1f} MB"
    for phase in phases:
        if phase["total_bytes"] and phase["peak_allocated_bytes"] > phase["total_bytes"]:
            yield f"{phase['peak_allocated_bytes']:,} bytes allocated of {phase['total_bytes']:,}"


# --- accuracy


def _distances(total: Mapping[str, Any]) -> Iterator[str]:
    """Two vectors whose angle has this cosine are at least its sine apart."""
    cosine, l2 = float(total["cosine"]), float(total["relative_l2"])
    if abs(cosine) > 1 + 1e-9:
        yield f"a cosine of {cosine}"
    elif l2 < math.sqrt(max(0.0, 1 - cosine * cosine)) * 0.99 - 1e-7:
        yield f"a cosine of {cosine:.6f} means a relative L2 error above {l2:.3g}"
    if float(total["mean_abs"]) > float(total["max_abs"]):
        yield f"the mean error {total['mean_abs']:.3g} is above the largest {total['max_abs']:.3g}"


# --- across stages


def _between(evidence: Evidence) -> Iterator[str]:
    """Results that are current speak of the same weights, machine and model."""
    current = [found.judged.result for found in evidence.found.values() if found.judged and found.current]
    ran = [result for result in current if "weights" in result.inputs]
    fetched = next((r.measured["digest"] for r in current if r.stage == "fetch"), None)
    for result in ran:
        if fetched and result.inputs["weights"] != fetched:
            yield f"{result.stage} is of other weights than fetch proved"
    on_device = [result for result in ran if result.device == evidence.device]
    for name in ("device", "chip", "cann", "torch", "torch_npu", "transformers"):
        told = sorted({str(r.environment[name]) for r in on_device if name in r.environment})
        if len(told) > 1:
            yield f"{name} is {' and '.join(told)}"
    if len({result.emulated for result in on_device}) > 1:
        yield "some stages were emulated, and some were not"
    counts = {r.stage: r.measured["load"]["parameters"] for r in on_device if "load" in r.measured}
    if len(set(counts.values())) > 1:
        yield "parameters: " + ", ".join(f"{stage} {count:,}" for stage, count in counts.items())
