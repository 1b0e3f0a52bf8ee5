"""bench: speed and memory, under conditions that stand beside the figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npukit.context import Context
from npukit.recipe import Recipe
from npukit.results import Check, StageResult
from npukit.samples import summarise
from npukit.stages.base import Progress, Stage
from npukit.worker.pool import Workers


class Bench(Stage):
    name = "bench"
    version = 1
    needs = ("fetch", "patch")

    def inputs(self, context: Context) -> Mapping[str, Any]:
        prompt = context.recipe.prompt(context.recipe.bench.prompt)
        return {
            **context.load_inputs(),
            "prompt": {prompt.id: context.prompt_inputs()[prompt.id]},
            "generation": context.recipe.generation.inputs,
            **self._conditions(context),
        }

    def _conditions(self, context: Context) -> dict[str, int]:
        recipe, options = context.recipe.bench, context.options
        asked = {"warmup": options.warmup, "rounds": options.rounds, "new_tokens": options.new_tokens}
        return {name: getattr(recipe, name) if value is None else value for name, value in asked.items()}

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
        return {**measured, "conditions": {"prompt": prompt.id, "dtype": context.dtype, **conditions}}

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        speed, peak = tokens_per_s(result.measured), result.measured["memory"]["peak"]["peak_allocated_bytes"]
        short = [
            row["tokens"]
            for row in result.measured["rounds"]
            if row["tokens"] != result.measured["new_tokens"]
        ]
        floor, ceiling = recipe.bench.min_tokens_per_s, recipe.bench.max_peak_bytes
        new_tokens = result.measured["new_tokens"]
        return (
            Check(
                "bench.fixed-length",
                not short,
                f"{new_tokens} new tokens in every round",
                f"{len(result.measured['rounds']) - len(short)} of {len(result.measured['rounds'])} rounds",
                cause="generation stopped early, so rounds cannot be compared" if short else "",
                remedy="npukit bench --force" if short else "",
            ),
            Check(
                "bench.tokens-per-s",
                speed >= floor if floor else None,
                f"at least {floor:g} tokens/s" if floor else "the recipe sets no floor",
                f"{speed:.2f} tokens/s",
            ),
            Check(
                "bench.peak-memory",
                peak <= ceiling if ceiling else None,
                f"at most {ceiling / 1e6:,.0f} MB" if ceiling else "the recipe sets no limit",
                f"{peak / 1e6:,.1f} MB",
            ),
        )

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        measured = result.measured
        rows, conditions = measured["rounds"], measured["conditions"]
        total = summarise([row["total_ms"] for row in rows])
        first = summarise([row["ttft_ms"] for row in rows])
        memory = measured["memory"]["peak"]
        return [
            (
                "conditions",
                f"{conditions['dtype']}, prompt {conditions['prompt']}, {measured['prompt_tokens']} prompt "
                f"tokens, {measured['new_tokens']} new, warmup {conditions['warmup']}, rounds {total.n}",
            ),
            (
                "latency ms",
                f"avg {total.mean:.2f}, min {total.min:.2f}, p50 {total.p50:.2f}, p90 {total.p90:.2f}, "
                f"p95 {total.p95:.2f}, max {total.max:.2f}, stdev {total.stdev:.2f}",
            ),
            ("first token ms", f"avg {first.mean:.2f}, p50 {first.p50:.2f}, p95 {first.p95:.2f}"),
            ("throughput", f"{tokens_per_s(measured):.2f} tokens/s end to end"),
            ("decode", f"{decode_tokens_per_s(measured):.2f} tokens/s after the first token"),
            ("peak memory", f"{memory['peak_allocated_bytes'] / 1e6:,.1f} MB"),
        ]


def tokens_per_s(measured: Mapping[str, Any]) -> float:
    """New tokens over time of all rounds, end to end: the published tables' throughput."""
    rows = measured["rounds"]
    return sum(row["tokens"] for row in rows) / sum(row["total_ms"] for row in rows) * 1e3


def decode_tokens_per_s(measured: Mapping[str, Any]) -> float:
    """Tokens after the first over the time they took, all rounds."""
    spans = [row["token_ms"][-1] - row["token_ms"][0] for row in measured["rounds"]]
    tokens = sum(len(row["token_ms"]) - 1 for row in measured["rounds"])
    return tokens / sum(spans) * 1e3 if sum(spans) else 0.0
