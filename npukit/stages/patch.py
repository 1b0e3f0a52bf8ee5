"""patch: packages and files made fit for the model, without touching what is shared."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npukit.context import Context
from npukit.recipe import Recipe
from npukit.results import Check, StageResult
from npukit.sandbox import build, lacking, plan, required
from npukit.stages.base import Progress, Stage
from npukit.worker.pool import Workers


class Patch(Stage):
    """The stage: measured is which sandbox and which directory the worker gets."""

    name = "patch"
    version = 1
    needs = ("fetch",)
    on_device = False

    def inputs(self, context: Context) -> Mapping[str, Any]:
        runtime = context.recipe.runtime
        return {
            "weights": context.weights,
            "requires": list(runtime.requires),
            "patches": list(runtime.patches),
            "lacking": lacking(runtime.requires),
        }

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        requires = context.recipe.runtime.requires
        root = context.workspace.root / "sandboxes"
        missing = lacking(requires)
        box = required(requires, root)
        if missing and box is None:
            progress(f"building a sandbox with {', '.join(missing)}")
            box = build(plan(requires), root)
        return {
            "requires": list(requires),
            "lacking": missing,
            "sandbox": str(box.path) if box else "",
            "packages": box.versions() if box else {},
            "directory": str(context.directory),
            "edits": [],
        }

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        measured = result.measured
        needed = ", ".join(measured["requires"]) or "nothing beyond what is installed"
        have = ", ".join(f"{name} {version}" for name, version in measured["packages"].items())
        seen = f"a sandbox with {have}" if have else "what is installed serves; nothing was patched"
        return (Check("patch.packages", True, needed, seen),)

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        measured = result.measured
        return [
            ("sandbox", measured["sandbox"] or "none needed"),
            ("edited files", str(len(measured["edits"])) if measured["edits"] else "none needed"),
        ]

    def settle(self, context: Context, result: StageResult) -> Context:
        sandbox = result.measured["sandbox"]
        return dataclasses.replace(
            context,
            directory=Path(result.measured["directory"]),
            sandbox=Path(sandbox) if sandbox else None,
        )

    def lapsed(self, context: Context, result: StageResult) -> str:
        sandbox = result.measured["sandbox"]
        if not sandbox:
            return ""
        root = context.workspace.root / "sandboxes"
        box = required(context.recipe.runtime.requires, root)
        return "" if box and str(box.path) == sandbox else "the sandbox is gone or broken"

    def cost(self, context: Context) -> str:
        missing = lacking(context.recipe.runtime.requires)
        return f"an installation of {', '.join(missing)} in a sandbox" if missing else ""
