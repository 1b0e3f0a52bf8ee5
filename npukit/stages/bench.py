"""bench: speed and memory, under conditions that stand beside the figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npukit.context import Context
from npukit.performance import (
    PHASES,
    bound,
    decode_tokens_per_s,
    sustained_rates,
    tokens_per_s,
    warnings,
)
from npukit.recipe import Recipe
from npukit.results import Check, StageResult
from npukit.samples import summarise
from npukit.stages.base import Progress, Stage
from npukit.worker.pool import Workers

NOT_A_CARDS = "not shown: an emulator's say nothing of a card's"


class Bench(Stage):
    name = "bench"
    version = 4
    needs = ("fetch", "patch")

    def inputs(self, context: Context) -> Mapping[str, Any]:
        prompt = context.recipe.prompt(context.recipe.bench.prompt)
        return {
            **context.load_inputs(),
            "prompt": {prompt.id: context.prompt_inputs()[prompt.id]},
            "generation": context.recipe.generation.inputs,
            **self._conditions(context),
        }

    def _conditions(self, context: Context) -> dict[str, Any]:
        recipe, options = context.recipe.bench, context.options
        asked = {"warmup": options.warmup, "rounds": options.rounds, "new_tokens": options.new_tokens}
        counts = {name: getattr(recipe, name) if value is None else value for name, value in asked.items()}
        return {
            **counts,
            "seconds": options.seconds,
            "sustained_tokens": options.sustained_tokens,
            "batch": options.batch,
            "prompt_tokens": options.prompt_tokens,
        }

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        prompt = context.recipe.prompt(context.recipe.bench.prompt)
        conditions = self._conditions(context)
        measured = workers.device().ask(
            "bench",
            load=context.load(),
            messages=context.messages(prompt),
            options=context.recipe.generation.inputs,
            **conditions,
        )
        stated = {"prompt": prompt.id, "dtype": context.dtype, "generation": context.recipe.generation.inputs}
        return {**measured, "conditions": {**stated, **conditions}}

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        measured = result.measured
        speed, peak = tokens_per_s(measured), peak_bytes(measured)
        rows, new_tokens = measured["rounds"], measured["new_tokens"]
        whole = sum(row["tokens"] == new_tokens for row in rows)
        floor, ceiling = recipe.bench.min_tokens_per_s, recipe.bench.max_peak_bytes
        if result.emulated:
            floor, ceiling = 0.0, 0
        slow, large = bool(floor and speed < floor), bool(ceiling and peak > ceiling)
        return (
            Check(
                "bench.fixed-length",
                whole == len(rows),
                f"{new_tokens} new tokens in every round",
                f"{whole} of {len(rows)} rounds",
                cause="" if whole == len(rows) else "generation stopped early: the rounds cannot be compared",
                remedy="" if whole == len(rows) else "npukit bench --force",
            ),
            Check(
                "bench.tokens-per-s",
                not slow if floor else None,
                f"at least {floor:g} tokens/s" if floor else "the recipe sets no floor",
                NOT_A_CARDS if result.emulated else f"{speed:.2f} tokens/s",
                cause=f"decoding is bound by the {bound(measured).by}" if slow else "",
                remedy=bound(measured).advice if slow else "",
            ),
            Check(
                "bench.peak-memory",
                not large if ceiling else None,
                f"at most {ceiling / 1e6:,.0f} MB" if ceiling else "the recipe sets no limit",
                NOT_A_CARDS if result.emulated else f"{peak / 1e6:,.1f} MB",
                cause="weights, cache and activations together exceed the limit" if large else "",
                remedy="npukit bench --dtype bfloat16" if large else "",
            ),
        )

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        measured = result.measured
        rows = measured["rounds"]
        figures = [
            ("conditions", _conditions_text(measured)),
            ("accelerations", _accelerations_text(measured["load"])),
        ]
        if result.emulated:
            dispatches = sum(measured["dispatches"].values())
            return [*figures, ("dispatches", f"{dispatches:,} a token"), ("speed, memory", NOT_A_CARDS)]
        figures += [
            ("latency ms", _latency_text([row["total_ms"] for row in rows])),
            ("first token ms", _latency_text([row["ttft_ms"] for row in rows])),
            ("phases ms", _phases_text(rows)),
            ("cold", _cold_text(measured)),
            ("throughput", f"{tokens_per_s(measured):.2f} tokens/s end to end"),
            ("decode", f"{decode_tokens_per_s(measured):.2f} tokens/s after the first token"),
            ("bound by", _bound_text(measured)),
            ("memory", _memory_text(measured["memory"]["rounds"])),
        ]
        if measured["sustained"]:
            rates = ", ".join(f"{rate:.1f}" for rate in sustained_rates(measured))
            figures.append(
                ("sustained", f"{measured['sustained']['tokens']} tokens, tokens/s in parts: {rates}")
            )
        return figures + [("warning", text) for text in warnings(measured)]


def peak_bytes(measured: Mapping[str, Any]) -> int:
    """The largest peak of all phases, loading included."""
    return max(int(memory["peak_allocated_bytes"]) for memory in measured["memory"].values())


def _conditions_text(measured: Mapping[str, Any]) -> str:
    conditions = measured["conditions"]
    return (
        f"{conditions['dtype']}, batch {conditions['batch']}, prompt {conditions['prompt']}, "
        f"{measured['prompt_tokens']} prompt tokens, {measured['new_tokens']} new (fixed, greedy), "
        f"warmup {len(measured['warmup'])}, rounds {len(measured['rounds'])}"
    )


def _accelerations_text(load: Mapping[str, Any]) -> str:
    """What is in force, then why the rest is not."""
    rows = sorted(load["accelerations"], key=lambda row: not row["used"])
    return (
        "; ".join(f"{'' if row['used'] else 'not '}{row['name']}: {row['reason']}" for row in rows) or "none"
    )


def _latency_text(samples: list[float]) -> str:
    s = summarise(samples)
    return (
        f"avg {s.mean:.2f}, min {s.min:.2f}, p50 {s.p50:.2f}, p90 {s.p90:.2f}, p95 {s.p95:.2f}, "
        f"max {s.max:.2f}, stdev {s.stdev:.2f}, mad {s.mad:.2f}"
    )


def _phases_text(rows: list[Mapping[str, Any]]) -> str:
    return ", ".join(f"{phase} {summarise([row[f'{phase}_ms'] for row in rows]).p50:.2f}" for phase in PHASES)


def _cold_text(measured: Mapping[str, Any]) -> str:
    load = f"load {measured['load']['load_s']:.2f} s"
    if not measured["warmup"]:
        return f"{load}; no warmup, so the first round is cold"
    return f"{load}, first call {measured['warmup'][0]['total_ms']:.1f} ms"


def _bound_text(measured: Mapping[str, Any]) -> str:
    seen = bound(measured)
    return (
        f"the {seen.by}: {seen.memory_share:.0%} of the memory limit, {seen.compute_share:.0%} of the "
        f"arithmetic limit, {seen.dispatches:,} dispatches a token of at most {seen.dispatch_us:.1f} µs"
    )


def _memory_text(memory: Mapping[str, Any]) -> str:
    parts = {
        "peak allocated": memory["peak_allocated_bytes"],
        "peak reserved": memory["peak_reserved_bytes"],
        "device used": memory["used_bytes"],
        "host resident": memory["host_rss_bytes"],
    }
    return ", ".join(f"{name} {value / 1e6:,.1f} MB" for name, value in parts.items() if value is not None)
