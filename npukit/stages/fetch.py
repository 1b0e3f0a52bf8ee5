"""fetch: the files of a model are there, whole and proven, from the first source that gives them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npukit import proof as proofs
from npukit.context import Context
from npukit.proof import Proof
from npukit.recipe import Expect, Recipe
from npukit.results import Check, StageResult
from npukit.sources.fetching import fetch_model, proven
from npukit.sources.order import answers, has_copy
from npukit.stages.base import Progress, Stage
from npukit.target import task_of
from npukit.worker.pool import Workers

PICKLES = (".bin", ".pt", ".pth", ".ckpt")


class Fetch(Stage):
    """The stage: measured is the proof."""

    name = "fetch"
    version = 1
    on_device = False

    def inputs(self, context: Context) -> Mapping[str, Any]:
        return {"source": dataclasses.asdict(context.recipe.source)}

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        return fetch_model(context.recipe, context.workspace, context.options.fetch, progress).to_json()

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        return judge(recipe, Proof.from_json(result.measured))

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        proof = Proof.from_json(result.measured)
        return [
            ("from", ", ".join(proof.sources)),
            ("files", f"{len(proof.files)}, {proof.size:,} bytes"),
            ("tensors", f"{proof.tensors:,}"),
            ("parameters", f"{proof.parameters:,}"),
            ("content", proof.digest[:16]),
        ]

    def settle(self, context: Context, result: StageResult) -> Context:
        proof = Proof.from_json(result.measured)
        recipe = context.recipe
        if recipe.task == "auto":
            recipe = dataclasses.replace(recipe, task=task_of(proof.root))
        return dataclasses.replace(context, recipe=recipe, directory=proof.root, weights=proof.digest)

    def lapsed(self, context: Context, result: StageResult) -> str:
        proof = Proof.from_json(result.measured)
        if not answers(proof.asked, context.recipe, context.options.fetch):
            return "other files of the model are asked for"
        if proofs.load(context.workspace.model_dir(context.recipe.name)) != proof:
            return "the files were fetched or rechecked since"
        return "" if proofs.untouched(proof) else "the files were changed since they were proven"

    def cost(self, context: Context) -> str:
        recipe = context.recipe
        first = (recipe.source.only or recipe.source.order)[0]
        if first in ("builtin", "local") or proven(recipe, context.workspace) or has_copy(recipe):
            return ""
        return "a download"


def judge(recipe: Recipe, proof: Proof) -> tuple[Check, ...]:
    """Whether the files are whole and what the recipe says must be there is there.

    Of a part of the files (--include, --exclude) only that they are whole.
    """
    expect = recipe.expect if _all_asked(recipe, proof) else Expect()
    other = {
        "cause": "the source has another version than the recipe was written for",
        "remedy": f"npukit fetch {proof.model} --force --revision COMMIT",
    }
    checks = [_whole(proof), *_no_pickle(proof)]
    for id, expected, seen in (
        ("tensors", expect.tensors, proof.tensors),
        ("parameters", expect.parameters, proof.parameters),
    ):
        if expected:
            checks.append(Check(f"fetch.{id}", expected == seen, f"{expected:,}", f"{seen:,}", **other))
    for path, stated in sorted(expect.files.items()):
        file = proof.file(path)
        found = {"bytes": file.size, "sha256": file.sha256} if file else {}
        checks.append(
            Check(
                f"fetch.file.{path}",
                all(found.get(key) == value for key, value in stated.items()),
                ", ".join(f"{key} {value}" for key, value in stated.items()),
                ", ".join(f"{key} {found[key]}" for key in stated if key in found) or "not there",
                **other,
            )
        )
    return tuple(checks)


def _no_pickle(proof: Proof) -> list[Check]:
    """Weights that are there only as pickles cannot be counted, and loading them runs what is in them."""
    pickles = [file.path for file in proof.files if Path(file.path).suffix in PICKLES]
    if proof.tensors or not pickles:
        return []
    return [
        Check(
            "fetch.safetensors",
            False,
            "weights as safetensors",
            f"only {', '.join(pickles[:3])}",
            cause="a pickle can run code when it is loaded, so npukit loads none",
            remedy='python -c "from transformers import AutoModelForCausalLM as M; '
            f"M.from_pretrained('{proof.root}', use_safetensors=False).save_pretrained('converted')\"   "
            "# if you trust the file; then copy the tokenizer's files beside it, and: npukit run ./converted",
        )
    ]


def _all_asked(recipe: Recipe, proof: Proof) -> bool:
    of_recipe = {"include": recipe.source.include, "exclude": recipe.source.exclude}
    return all(tuple(proof.asked.get(name, of_recipe[name])) == of_recipe[name] for name in of_recipe)


def _whole(proof: Proof) -> Check:
    seen = "; ".join(f"{f.path}: {f.detail}" for f in proof.faults[:5])
    more = f"; and {len(proof.faults) - 5} more" if len(proof.faults) > 5 else ""
    return Check(
        "fetch.whole",
        proof.whole,
        "every file whole and readable",
        f"{len(proof.files)} files, {proof.size:,} bytes" if proof.whole else seen + more,
        cause="" if proof.whole else "damaged at the source, or changed after they were fetched",
        remedy="" if proof.whole else f"npukit fetch --repair {proof.model}",
    )
