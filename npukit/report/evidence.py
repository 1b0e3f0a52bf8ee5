"""What a report is made from: the stored results of one model on one device. No result, no figure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from npukit.context import Context, Options
from npukit.pipeline import HOST, Pipeline
from npukit.recipe import Recipe
from npukit.results import Judged, StageResult
from npukit.stages import STAGES
from npukit.stages.base import Stage

NEVER = "never measured"  # as the pipeline says it


@dataclass(frozen=True)
class Found:
    """A stage's result, or None; ``why`` it is not current, in words."""

    judged: Judged | None
    why: tuple[str, ...] = ()

    @property
    def current(self) -> bool:
        return self.judged is not None and not self.why


@dataclass(frozen=True)
class Evidence:
    """``found`` by stage, in the stages' order."""

    recipe: Recipe
    device: str
    found: Mapping[str, Found]

    def judged(self, stage: str) -> Judged | None:
        return self.found[stage].judged if stage in self.found else None

    def measured(self, stage: str) -> Mapping[str, Any] | None:
        judged = self.judged(stage)
        return judged.result.measured if judged else None

    def results(self) -> Iterator[Judged]:
        return (found.judged for found in self.found.values() if found.judged is not None)

    def on_device(self) -> Iterator[Judged]:
        return (judged for judged in self.results() if judged.result.device != HOST)

    @property
    def on_npu(self) -> bool:
        """Whether everything that ran on a device ran on a real NPU."""
        ran = list(self.on_device())
        return bool(ran) and all(
            one.result.device.startswith("npu") and not one.result.emulated for one in ran
        )


def gather(context: Context) -> Evidence:
    """Per stage the current result, else the newest and why it is not current; judged under today's limits.

    How much a run was asked to measure (rounds, --strict) is taken from the result: asking for less now does
    not make it stale.
    """
    found = {stage.name: _found(context, stage) for stage in STAGES}
    return Evidence(context.recipe, str(context.device), found)


def _found(context: Context, stage: Stage) -> Found:
    place = str(context.device) if stage.on_device else HOST
    stored = context.workspace.results(context.recipe.name, place, stage.name)[::-1]
    asked = [context.options, *(_as_asked(context.options, result) for result, _ in stored)]
    why: list[str] = []
    if stage.needs and context.directory is None:
        asked, why = [], [NEVER if not stored else "no result of fetch is current"]
    for options in dict.fromkeys(asked):
        pipeline = Pipeline(dataclasses.replace(context, options=options), lambda text: None)
        judged, reasons = pipeline.current(stage)
        if judged is not None:
            return Found(judged)
        why = min(why or reasons, reasons, key=len)
    # what another version of the stage measured has another form: it can be named, not read
    readable = [(one, path) for one, path in stored if one.inputs["stage"] == stage.identity]
    if not readable:
        return Found(None, tuple(why))
    result, path = readable[0]
    return Found(Judged(result, stage.judge(context.recipe, result), True, str(path)), tuple(why))


def _as_asked(options: Options, result: StageResult) -> Options:
    """``options`` with the extent that ``result`` was measured to, where nothing else was asked for."""
    conditions = result.measured.get("conditions", {}) if result.stage == "bench" else {}
    counts: dict[str, Any] = {
        name: conditions[name]
        for name in ("warmup", "rounds", "new_tokens", "seconds", "sustained_tokens")
        if name in conditions and not getattr(options, name)
    }
    more = {"strict": "fresh_process", "layers": "layers", "bisect": "bisect"}
    switches: dict[str, Any] = {name: True for name, key in more.items() if result.inputs.get(key) == "true"}
    return dataclasses.replace(options, **counts, **switches)
