"""verify: every weight landed, the config landed, answers come from the weights, and repeat."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from npukit.context import Context
from npukit.recipe import Prompt, Recipe
from npukit.results import Check, StageResult
from npukit.stages.base import Progress, Stage
from npukit.worker.pool import Workers

SHOWN = 5  # names in a sentence


class Verify(Stage):
    name = "verify"
    version = 1
    needs = ("fetch", "patch")

    def inputs(self, context: Context) -> Mapping[str, Any]:
        return {
            **context.load_inputs(),
            "prompt": context.prompt_inputs(),
            "generation": self._generation(context),
            "control_seed": context.recipe.verify.control_seed,
            "fresh_process": context.options.strict,
        }

    def wider(self, context: Context) -> tuple[Context, ...]:
        strict = dataclasses.replace(context.options, strict=True)
        return () if context.options.strict else (dataclasses.replace(context, options=strict),)

    def _generation(self, context: Context) -> dict[str, Any]:
        generation = context.recipe.generation
        return {"options": generation.inputs, "max_new_tokens": generation.max_new_tokens}

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        request = {"load": context.load(), "prompts": context.prompts(), **self._generation(context)}
        seed = context.recipe.verify.control_seed
        measured = workers.device().ask("verify", **request, control_seed=seed)
        measured["fresh_process"] = None
        if context.options.strict:
            progress("answering once more in a fresh process")
            with workers.aside(context.device) as fresh:
                measured["fresh_process"] = fresh.ask("answers", **request)
        return measured

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        measured = result.measured
        return (
            *_load_checks(measured["load"]),
            _config_check(measured["config"], recipe.verify.config),
            _answers_check(recipe, measured["answers"]),
            _control_check(recipe, measured["control"]),
            *_repeat_checks(measured),
        )

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        measured = result.measured
        answers = [(f"answer {row['prompt']}", row["text"].strip()) for row in measured["answers"]]
        control = [(f"random {row['prompt']}", row["text"].strip()) for row in measured["control"][:1]]
        return [("parameters", f"{measured['load']['parameters']:,}"), *answers, *control]


def _load_checks(load: Mapping[str, Any]) -> list[Check]:
    strangers = bool(load["missing"] and load["unexpected"])
    causes = {
        "missing": "the checkpoint lacks them, so they were initialised at random",
        "unexpected": "the model has no such tensors, so they were dropped",
        "mismatched": "their shapes differ from the model's, so they were initialised at random",
    }
    return [
        Check(
            f"load.{kind}",
            not load[kind],
            f"0 {kind} tensors",
            f"{len(load[kind])}{_named(load[kind])}",
            cause=_load_cause(cause, strangers) if load[kind] else "",
            remedy=_load_remedy(strangers) if load[kind] else "",
        )
        for kind, cause in causes.items()
    ]


def _load_cause(cause: str, strangers: bool) -> str:
    if not strangers:
        return cause
    return f"{cause}; the checkpoint was saved by another class than the one that reads it"


def _load_remedy(strangers: bool) -> str:
    own = "npukit patch --trust-remote-code   # if the model brings its own class\n" if strangers else ""
    return own + "npukit patch --list   # weight keys can be renamed by the recipe"


def _config_check(config: Mapping[str, Any], wanted: Mapping[str, Any]) -> Check:
    lost = [row["key"] for row in config["lost"]]
    return Check(
        "config.landed",
        not lost,
        f"{config['checked']} values of config.json on model.config",
        f"{config['checked'] - len(lost)} landed{_named(lost)}",
        cause="this transformers does not know the keys named, or reads them under another name"
        if lost
        else "",
        remedy="npukit patch --help   # config keys can be rewritten by the recipe" if lost else "",
    )


def hits(prompt: Prompt, text: str) -> int:
    """How many of the prompt's keywords the answer holds, case ignored."""
    return sum(word.lower() in text.lower() for word in prompt.expect)


def _answers_check(recipe: Recipe, answers: list[dict[str, Any]]) -> Check:
    wanted, found, wrong = _count(recipe, answers)
    if not wanted:
        return Check("answers.keywords", None, "keywords in the answers", "the recipe names none")
    enough = found >= recipe.verify.min_hits * wanted
    return Check(
        "answers.keywords",
        enough,
        f"at least {recipe.verify.min_hits:.0%} of {wanted} keywords",
        f"{found} of {wanted}{_named(wrong)}",
        cause=""
        if enough
        else "the model does not see or say what it should: weights, processor or template",
        remedy="" if enough else "npukit accuracy   # against fp32 on the CPU",
    )


def _control_check(recipe: Recipe, answers: list[dict[str, Any]]) -> Check:
    wanted, found, _ = _count(recipe, answers)
    if not wanted:
        return Check("control.keywords", None, "no keywords from random weights", "the recipe names none")
    few = found <= recipe.verify.max_control_hits * wanted
    return Check(
        "control.keywords",
        few,
        f"at most {recipe.verify.max_control_hits:.0%} of {wanted} keywords from random weights",
        f"{found} of {wanted}",
        cause="" if few else "the keywords come by chance or from the prompt, so they prove nothing",
        remedy="" if few else "choose keywords that only a right answer holds: npukit recipes copy",
    )


def _count(recipe: Recipe, answers: list[dict[str, Any]]) -> tuple[int, int, list[str]]:
    """Keywords wanted, keywords found, and the answers that lack some."""
    by_prompt = {row["prompt"]: row["text"] for row in answers}
    wanted = found = 0
    wrong = []
    for prompt in recipe.prompts:
        if prompt.id in by_prompt:
            got = hits(prompt, by_prompt[prompt.id])
            wanted, found = wanted + len(prompt.expect), found + got
            if got < len(prompt.expect):
                wrong.append(f"{prompt.id}: {by_prompt[prompt.id].strip()!r}")
    return wanted, found, wrong


def _repeat_checks(measured: Mapping[str, Any]) -> list[Check]:
    first = [row["token_ids"] for row in measured["answers"]]

    def check(id: str, again: list[list[int]] | None, where: str) -> Check:
        if again is None:
            return Check(id, None, f"the same greedy tokens {where}", "asked for with --strict")
        same = sum(a == b for a, b in zip(first, again, strict=True))
        good = same == len(first)
        return Check(
            id,
            good,
            f"the same greedy tokens {where}",
            f"{same} of {len(first)} answers the same",
            cause=""
            if good
            else "an operator that is not deterministic, or memory that is read before it is written",
            remedy="" if good else "npukit accuracy",
        )

    return [
        check("repeat.same-process", measured["repeat"], "twice"),
        check("repeat.fresh-process", measured["fresh_process"], "in a fresh process"),
    ]


def _named(names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ": " + ", ".join(names[:SHOWN]) + more
