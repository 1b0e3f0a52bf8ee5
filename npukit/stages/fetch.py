"""fetch: have the files of a model, whole and proven, from the first source that gives them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from npukit.context import Context
from npukit.proof import Proof, load, prove, save, untouched
from npukit.recipe import Expect, Recipe
from npukit.results import Check, StageResult
from npukit.sources import Want, source
from npukit.stages.base import Stage
from npukit.target import task_of
from npukit.worker.pool import Workers
from npukit.workspace import Workspace

Progress = Callable[[str], None]
VERSION = 1


@dataclass(frozen=True)
class FetchOptions:
    """What a user asks of one fetch; empty means as the recipe says."""

    source: str = ""
    revision: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    offline: bool = False
    deep: bool = False
    force: bool = False
    token: str = field(default="", repr=False)


def fetch_model(recipe: Recipe, workspace: Workspace, options: FetchOptions, progress: Progress) -> Proof:
    """The files of ``recipe``, proven. A proof that still holds is taken as it is. Raises NpukitError."""
    directory = workspace.model_dir(recipe.name)
    proof = load(directory)
    if proof and not options.force and proof.whole and untouched(proof) and (proof.deep or not options.deep):
        return proof
    name = sources_of(recipe, options)[0]
    asked = want(recipe, options, name)
    place = source(name)
    listing = place.listing(asked)
    brought = place.bring(listing, directory / "files", progress)
    proof = prove(
        recipe.name,
        brought.root,
        brought.files,
        revision=listing.revision,
        deep=options.deep,
        progress=progress,
    )
    save(proof, directory)
    return proof


def sources_of(recipe: Recipe, options: FetchOptions) -> tuple[str, ...]:
    """The sources to try, first to last."""
    if options.source:
        return (options.source,)
    return recipe.source.only or recipe.source.order


def want(recipe: Recipe, options: FetchOptions, name: str) -> Want:
    """What is asked of the source called ``name``."""
    return Want(
        model=recipe.name,
        repo=str(getattr(recipe.source, name)),
        revision=options.revision or recipe.source.revision,
        include=options.include or recipe.source.include,
        exclude=options.exclude or recipe.source.exclude,
        offline=options.offline,
        token=options.token,
    )


def judge(expect: Expect, proof: Proof) -> tuple[Check, ...]:
    """Whether the files are whole and what the recipe says must be there is there."""
    checks = [_whole(proof)]
    for id, expected, seen in (
        ("tensors", expect.tensors, proof.tensors),
        ("parameters", expect.parameters, proof.parameters),
    ):
        if expected:
            checks.append(
                Check(
                    f"fetch.{id}",
                    expected == seen,
                    f"{expected:,}",
                    f"{seen:,}",
                    cause="the source has another version of the model than the recipe was written for",
                    remedy="npukit fetch MODEL --force --revision COMMIT",
                )
            )
    for path, stated in sorted(expect.files.items()):
        file = proof.file(path)
        seen_values = {"bytes": file.size, "sha256": file.sha256} if file else {}
        checks.append(
            Check(
                f"fetch.file.{path}",
                all(seen_values.get(key) == value for key, value in stated.items()),
                ", ".join(f"{key} {value}" for key, value in stated.items()),
                ", ".join(f"{key} {seen_values[key]}" for key in stated if key in seen_values) or "not there",
                cause="the source has another version of the file than the recipe was written for",
                remedy="npukit fetch MODEL --force --revision COMMIT",
            )
        )
    return tuple(checks)


def _whole(proof: Proof) -> Check:
    seen = "; ".join(f"{f.path}: {f.detail}" for f in proof.faults[:5])
    more = f"; and {len(proof.faults) - 5} more" if len(proof.faults) > 5 else ""
    return Check(
        "fetch.whole",
        proof.whole,
        "every file whole and readable",
        f"{len(proof.files)} files, {proof.size:,} bytes" if proof.whole else seen + more,
        cause="the files at their source are damaged, or were changed after they were fetched",
        remedy=f"npukit fetch --repair {proof.model}",
    )


class Fetch(Stage):
    """The stage: measured is the proof."""

    name = "fetch"
    version = 1
    on_device = False

    def inputs(self, context: Context) -> Mapping[str, Any]:
        return {"source": dataclasses.asdict(context.recipe.source)}

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        options = FetchOptions(offline=context.options.offline)
        return fetch_model(context.recipe, context.workspace, options, progress).to_json()

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        return judge(recipe.expect, Proof.from_json(result.measured))

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
        return "" if untouched(proof) else "the files were changed since they were proven"

    def cost(self, context: Context) -> str:
        source = context.recipe.source
        return "" if (source.only or source.order)[0] in ("builtin", "local") else "a download"
