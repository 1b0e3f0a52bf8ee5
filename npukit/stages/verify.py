"""verify: every weight landed, the config landed, answers come from the weights, and repeat."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from npukit.checks.answering import answer_checks, quality_checks, repeat_checks
from npukit.checks.kernels import kernel_check
from npukit.checks.loading import config_checks, load_checks
from npukit.checks.numbers import number_checks
from npukit.checks.wording import image_checks, word_checks
from npukit.context import Context
from npukit.recipe import Recipe
from npukit.results import Check, StageResult
from npukit.stages.base import Progress, Stage
from npukit.worker.pool import Workers


class Verify(Stage):
    name = "verify"
    version = 4
    needs = ("fetch", "patch")

    def inputs(self, context: Context) -> Mapping[str, Any]:
        return {
            **context.load_inputs(),
            "prompt": context.prompt_inputs(),
            "generation": self._generation(context),
            "control_seed": context.recipe.verify.control_seed,
            "texts": context.recipe.verify.texts,
            "fresh_process": context.options.strict,
            "layers": context.options.layers,
        }

    def wider(self, context: Context) -> tuple[Context, ...]:
        options = context.options
        more = [
            dataclasses.replace(options, strict=strict, layers=layers)
            for strict in {options.strict, True}
            for layers in {options.layers, True}
        ]
        return tuple(dataclasses.replace(context, options=one) for one in more if one != options)

    def _generation(self, context: Context) -> dict[str, Any]:
        generation = context.recipe.generation
        return {"options": generation.inputs, "max_new_tokens": generation.max_new_tokens}

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        request = {"load": context.load(), "prompts": context.prompts(), **self._generation(context)}
        verify = context.recipe.verify
        measured = workers.device().ask(
            "verify",
            **request,
            control_seed=verify.control_seed,
            texts=verify.texts,
            layers=context.options.layers,
        )
        measured["dtype"] = context.dtype
        measured["fresh_process"] = None
        if context.options.strict:
            progress("answering once more in a fresh process")
            with workers.aside(context.device) as fresh:
                measured["fresh_process"] = fresh.ask("answers", **request)
        return measured

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        measured = result.measured
        return (
            *load_checks(measured),
            *config_checks(measured["config"], recipe.verify.config),
            *answer_checks(recipe, measured),
            *quality_checks(recipe, measured["quality"]),
            *repeat_checks(measured),
            *word_checks(measured["words"]),
            *image_checks(measured["image_tokens"]),
            *number_checks(measured, measured["dtype"]),
            kernel_check(measured["kernels"], recipe.verify.max_fallbacks),
        )

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        measured = result.measured
        answers = [(f"answer {row['prompt']}", row["text"].strip()) for row in measured["answers"]]
        control = [(f"random {row['prompt']}", row["text"].strip()) for row in measured["control"][:1]]
        perplexity = ", ".join(
            f"{name} {float(row['perplexity']):,.1f}" for name, row in measured["quality"].items()
        )
        return [
            ("parameters", f"{measured['load']['parameters']:,}"),
            ("attention", measured["load"]["attention"]),
            *answers,
            *control,
            ("perplexity", perplexity),
        ]
