"""verify: do the answers come from the weights, and come again?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npukit.checks import judged, named
from npukit.recipe import Prompt, Recipe
from npukit.results import Check

# a text is known when its tokens cost at most this share of what they cost random weights
KNOWN_SHARE = 0.75
# nats per token that disorder must cost a model that knows a text
MIN_ORDER_GAIN = 0.5
MAX_ENTROPY_SHARE = 0.95  # of the uniform distribution's
MAX_REPETITION = 0.9
ACCURACY = "npukit accuracy   # against fp32 on the CPU"
TRAINED = "npukit fetch --recheck --deep   # are the files whole?\nnpukit accuracy --bisect"


def answer_checks(recipe: Recipe, measured: Mapping[str, Any]) -> list[Check]:
    return [
        _keywords(recipe, measured["answers"]),
        _control(recipe, measured["control"]),
        _repetition(recipe, measured["answers"]),
    ]


def hits(prompt: Prompt, text: str) -> int:
    """How many of the prompt's keywords the answer holds, case ignored."""
    return sum(word.lower() in text.lower() for word in prompt.expect)


def _keywords(recipe: Recipe, answers: list[dict[str, Any]]) -> Check:
    wanted, found, wrong = _count(recipe, answers)
    if not wanted:
        return judged("answers.keywords", None, "keywords in the answers", "the recipe names none")
    return judged(
        "answers.keywords",
        found >= recipe.verify.min_hits * wanted,
        f"at least {recipe.verify.min_hits:.0%} of {wanted} keywords",
        f"{found} of {wanted}{named(wrong)}",
        cause="the model does not see or say what it should: weights, processor or template",
        remedy=ACCURACY,
    )


def _control(recipe: Recipe, answers: list[dict[str, Any]]) -> Check:
    wanted, found, _ = _count(recipe, answers)
    if not wanted:
        return judged("control.keywords", None, "no keywords from random weights", "the recipe names none")
    return judged(
        "control.keywords",
        found <= recipe.verify.max_control_hits * wanted,
        f"at most {recipe.verify.max_control_hits:.0%} of {wanted} keywords from random weights",
        f"{found} of {wanted}",
        cause="the keywords come by chance or from the prompt, so they prove nothing",
        remedy="choose keywords that only a right answer holds: npukit recipes copy",
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


def _repetition(recipe: Recipe, answers: list[dict[str, Any]]) -> Check:
    asked = any(prompt.expect for prompt in recipe.prompts)
    worst = max(answers, key=lambda row: float(row["repetition"]))
    seen = f"{float(worst['repetition']):.0%} in {worst['prompt']}"
    expected = f"at most {MAX_REPETITION:.0%} of the 4-grams of an answer were there before"
    if asked:  # keywords say more, and small models do repeat themselves
        return judged("answers.repetition", None, "the keywords judge", seen)
    return judged(
        "answers.repetition",
        float(worst["repetition"]) <= MAX_REPETITION,
        expected,
        seen,
        cause="the same token over and over: NaN logits, an overflow in half precision, or a broken cache",
        remedy="npukit verify --layers   # counts NaN, inf and saturation in every module",
    )


def repeat_checks(measured: Mapping[str, Any]) -> list[Check]:
    """Greedy twice, and once more in a fresh process."""
    first = [row["token_ids"] for row in measured["answers"]]

    def check(id: str, again: list[list[int]] | None, where: str) -> Check:
        if again is None:
            return judged(id, None, f"the same greedy tokens {where}", "asked for with --strict")
        same = sum(a == b for a, b in zip(first, again, strict=True))
        return judged(
            id,
            same == len(first),
            f"the same greedy tokens {where}",
            f"{same} of {len(first)} answers the same",
            cause="an operator that is not deterministic, or memory that is read before it is written",
            remedy="npukit accuracy",
        )

    return [
        check("repeat.same-process", measured["repeat"], "twice"),
        check("repeat.fresh-process", measured["fresh_process"], "in a fresh process"),
    ]


def quality_checks(recipe: Recipe, quality: Mapping[str, Mapping[str, Any]]) -> list[Check]:
    """Perplexity under the recipe's limits, and the languages that it names; without these and without
    keywords, whether the model knows any of the texts at all."""
    limits, languages = recipe.verify.max_perplexity, recipe.verify.languages
    checks = [_limit(name, float(limit), quality.get(name)) for name, limit in limits.items()]
    keywords = any(prompt.expect for prompt in recipe.prompts)
    numbers = ", ".join(
        f"{name} {float(row['loss']):.2f} (disorder {float(row['shuffled_loss']):.2f}, "
        f"random weights {float(row['control_loss']):.2f})"
        for name, row in quality.items()
    )
    if (limits or keywords) and not languages:
        return [
            *checks,
            judged(
                "quality.known", None, "the recipe's keywords or limits judge", f"nats per token: {numbers}"
            ),
        ]
    wanted = f" of the wanted {', '.join(languages)}" if languages else ""
    known = [name for name, row in quality.items() if _knows(row)]
    flat = [
        name
        for name, row in quality.items()
        if not float(row["entropy"]) <= MAX_ENTROPY_SHARE * float(row["uniform_entropy"])
    ]
    return [
        *checks,
        judged(
            "quality.known",
            set(languages) <= set(known) if languages else bool(known),
            f"a text at {KNOWN_SHARE:.0%} of random weights' nats, and {MIN_ORDER_GAIN:g} below its disorder",
            f"known: {', '.join(known) or 'none'}{wanted}; nats per token: {numbers}",
            cause="the model predicts no better than random weights do, or does not see the order of words: "
            "weights that did not land, or were never trained",
            remedy=TRAINED,
        ),
        judged(
            "quality.entropy",
            len(flat) < len(quality),
            f"predictions below {MAX_ENTROPY_SHARE:.0%} of the uniform distribution's entropy",
            f"nearly uniform or not finite: {', '.join(flat)}" if flat else "all are",
            cause="flat or not finite logits: the head or the last norm did not load, or they overflowed",
            remedy=TRAINED,
        ),
    ]


def _knows(row: Mapping[str, Any]) -> bool:
    loss, shuffled, control = (float(row[key]) for key in ("loss", "shuffled_loss", "control_loss"))
    return loss <= KNOWN_SHARE * control and loss + MIN_ORDER_GAIN <= shuffled


def _limit(name: str, limit: float, row: Mapping[str, Any] | None) -> Check:
    if row is None:
        seen, good = "no such text was measured", False
    else:
        seen, good = f"{float(row['perplexity']):.2f}", float(row["perplexity"]) <= limit
    return judged(
        f"quality.perplexity.{name}",
        good,
        f"perplexity at most {limit:g}",
        seen,
        cause="weights, tokenizer or code are not those that the limit was measured with",
        remedy=TRAINED,
    )
