"""accuracy: how far the candidate is from fp32 on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npukit.context import Context
from npukit.devices.name import DeviceName
from npukit.fingerprint import digest, named
from npukit.proof.headers import HeaderError, read_header
from npukit.recipe import Recipe
from npukit.results import Check, StageResult
from npukit.stages.base import Progress, Stage
from npukit.worker.pool import Workers

REFERENCE = {"dtype": "float32", "precision": "strict"}


class Accuracy(Stage):
    name = "accuracy"
    version = 1
    needs = ("fetch", "patch")

    def inputs(self, context: Context) -> Mapping[str, Any]:
        return {
            **context.load_inputs(dtype=self.candidate_dtype(context)),
            "prompt": context.prompt_inputs(),
            "generation": self._generation(context),
            "reference": digest(self._reference_inputs(context)),
        }

    def candidate_dtype(self, context: Context) -> str:
        """The dtype that is judged: another than the reference's where both would be the same run."""
        if context.options.dtype:
            return context.options.dtype
        itself = context.device.kind == "cpu" and context.dtype == "float32"
        return context.recipe.accuracy.dtype if itself else context.dtype

    def _generation(self, context: Context) -> dict[str, Any]:
        generation = context.recipe.generation
        return {"options": generation.inputs, "max_new_tokens": generation.max_new_tokens}

    def _reference_inputs(self, context: Context) -> dict[str, str]:
        software = {
            k: v for k, v in context.environment.items() if k in ("torch", "transformers", "tokenizers")
        }
        return named(
            {
                **context.load_inputs(**REFERENCE),
                "prompt": context.prompt_inputs(),
                "generation": self._generation(context),
                **software,
            }
        )

    def reference_path(self, context: Context) -> Path:
        key = digest(self._reference_inputs(context))
        return context.workspace.captures / f"{context.recipe.name}-{key[:16]}.safetensors"

    def prepare(self, context: Context, workers: Workers) -> None:
        """Record the reference on the CPU, before the card is taken; once for its content."""
        path = self.reference_path(context)
        if _whole(path):
            return
        with workers.aside(DeviceName("cpu")) as worker:
            worker.ask(
                "capture",
                load=context.load(**REFERENCE),
                prompts=context.prompts(),
                path=str(path),
                **self._generation(context),
            )

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        return workers.device().ask(
            "accuracy",
            load=context.load(dtype=self.candidate_dtype(context)),
            prompts=context.prompts(),
            reference=str(self.reference_path(context)),
            **self._generation(context),
        )

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        measured = result.measured
        limits = recipe.accuracy.limits(measured["candidate"]["dtype"])
        rows = measured["prompts"]
        cosine = min(float(row["cosine"]) for row in rows)
        last = min(float(row["last_cosine"]) for row in rows)
        l2 = max(float(row["relative_l2"]) for row in rows)
        cause = "the candidate computes something else than the reference, or its dtype is too coarse"
        remedy = "npukit accuracy --dtype float32   # tells the device's effect from the dtype's"
        return tuple(
            Check(id, good, expected, seen, cause="" if good else cause, remedy="" if good else remedy)
            for id, good, expected, seen in (
                (
                    "accuracy.cosine",
                    cosine >= limits["min_cosine"],
                    f"at least {limits['min_cosine']:g}, all positions",
                    f"{cosine:.6f}",
                ),
                (
                    "accuracy.last-cosine",
                    last >= limits["min_cosine"],
                    f"at least {limits['min_cosine']:g}, last position",
                    f"{last:.6f}",
                ),
                (
                    "accuracy.relative-l2",
                    l2 <= limits["max_relative_l2"],
                    f"at most {limits['max_relative_l2']:.2%}",
                    f"{l2:.4%}",
                ),
            )
        )

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        measured = result.measured
        candidate = measured["candidate"]
        figures = [("candidate", f"{candidate['device']} {candidate['dtype']}"), ("reference", "cpu float32")]
        for row in measured["prompts"]:
            parted = row["first_difference"]
            text = "same greedy text" if parted is None else f"text parts at token {parted}"
            cosine, l2 = float(row["cosine"]), float(row["relative_l2"])
            largest, mean = float(row["max_abs"]), float(row["mean_abs"])
            errors = f"max abs {largest:.3g}, mean abs {mean:.3g}, relative L2 {l2:.4%}"
            figures.append((row["prompt"], f"cosine {cosine:.6f}, {errors}, {text}"))
        return figures


def _whole(path: Path) -> bool:
    try:
        return bool(read_header(path))
    except (OSError, HeaderError):
        return False
