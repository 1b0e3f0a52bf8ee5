"""The commands that reproduce what a report shows: those whose options give the same key."""

from __future__ import annotations

import shlex

from npukit.report.evidence import Evidence

NO_ACCELERATE = "--no-accelerate"


def model_word(evidence: Evidence) -> str:
    """How the model is called on the command line."""
    from npukit.recipe import BUILTIN_RECIPES

    recipe = evidence.recipe
    built_in = (BUILTIN_RECIPES / f"{recipe.name}.toml").is_file()
    if built_in or not recipe.path:
        hub = {"huggingface": "hf", "modelscope": "ms"}
        named = ((short, getattr(recipe.source, name)) for name, short in hub.items())
        return recipe.name if built_in else next((f"{s}:{id}" for s, id in named if id), recipe.name)
    return recipe.path.rpartition("/")[2] if recipe.path.endswith(".toml") else recipe.name


def reproducing(evidence: Evidence) -> str:
    """One command for all stages."""
    return _line(evidence, "run", [*_load_options(evidence), *_strict(evidence), *_bench_options(evidence)])


def measuring(evidence: Evidence, stage: str) -> str:
    """The command for one stage."""
    if stage in ("fetch", "patch"):
        return _line(evidence, stage, [], device=False)
    options = {"verify": _strict(evidence), "bench": _bench_options(evidence)}
    return _line(evidence, stage, [*_load_options(evidence), *options.get(stage, [])])


def asking(evidence: Evidence) -> str:
    """One question, the recipe's first."""
    prompt = evidence.recipe.prompts[0]
    pictures = [word for name in prompt.images for word in ("--image", name)]
    return _line(evidence, "chat", [*pictures, "--question", prompt.text])


def _line(evidence: Evidence, command: str, options: list[str], device: bool = True) -> str:
    emulated = any(judged.result.emulated for judged in evidence.on_device())
    where = ["--emulated"] if emulated else ["--device", evidence.device]
    where = where if device else []
    return shlex.join(["npukit", command, model_word(evidence), *where, *options])


def _load_options(evidence: Evidence) -> list[str]:
    """--dtype where it is not the recipe's."""
    judged = evidence.judged("verify") or evidence.judged("bench")
    if judged is None:
        return []
    inputs = judged.result.inputs
    dtype = inputs.get("load.dtype", evidence.recipe.load.dtype)
    plain = evidence.recipe.load.accelerate and not any(n.startswith("load.accelerate.") for n in inputs)
    options = ["--dtype", dtype] if dtype != evidence.recipe.load.dtype else []
    return [*options, *([NO_ACCELERATE] if plain else [])]


def _strict(evidence: Evidence) -> list[str]:
    judged = evidence.judged("verify")
    return ["--strict"] if judged and judged.result.inputs.get("fresh_process") == "true" else []


def _bench_options(evidence: Evidence) -> list[str]:
    judged = evidence.judged("bench")
    if judged is None:
        return []
    asked, usual = judged.result.measured["conditions"], evidence.recipe.bench
    names = {"--warmup": "warmup", "--rounds": "rounds", "--new-tokens": "new_tokens"}
    return [
        word
        for option, name in names.items()
        if asked[name] != getattr(usual, name)
        for word in (option, str(asked[name]))
    ]
