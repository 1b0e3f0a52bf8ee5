"""Run stages: meet their needs, then reuse or measure, then judge."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from types import TracebackType

from npukit import __version__
from npukit.context import Context
from npukit.errors import NpukitError
from npukit.fingerprint import differences, digest, named
from npukit.results import Judged, StageResult
from npukit.stages import stage_named
from npukit.stages.base import Progress, Stage
from npukit.worker.pool import Workers

HOST = "host"  # where results lie that hold whatever the device


class Pipeline:
    """One run over one model. A context manager: leaving it ends the workers and frees the card."""

    def __init__(self, context: Context, progress: Progress, *, wait_s: float = 0.0) -> None:
        self.context = context
        self._progress = progress
        self._workers = Workers(
            context.device,
            context.workspace.locks,
            context.workspace.logs,
            wait_s=wait_s,
            progress=progress,
            emulated=context.options.emulated,
        )
        self._done: dict[str, Judged] = {}

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(kind, error, trace)

    # --- running

    def run(self, name: str, *, force: bool = False) -> Judged:
        """One stage, its needs met where that costs nothing. Raises NpukitError."""
        stage = stage_named(name)
        for need in stage.needs:
            if need not in self._done:
                self._meet(stage, stage_named(need))
        return self._stage(stage, force)

    def chain(self, names: Sequence[str], *, force: bool = False) -> Iterator[Judged]:
        """Several stages in order, each as it is done; ends after one whose failure the others build on."""
        prepared = False
        for name in names:
            stage = stage_named(name)
            if stage.on_device and not prepared:
                self._prepare([stage_named(each) for each in names], force)
                prepared = True
            judged = self.run(name, force=force)
            yield judged
            if not judged.passed and not stage.on_device:
                return

    def _prepare(self, stages: Sequence[Stage], force: bool) -> None:
        """Do what needs no card for all stages before the first of them takes it."""
        self.ready()
        for stage in stages:
            if stage.on_device and (force or self.current(stage)[0] is None):
                stage.prepare(self.context, self.workers)

    def ready(self, needs: Sequence[str] = ("fetch", "patch")) -> Context:
        """The context with ``needs`` run or reused, for a command that needs the files."""
        for need in needs:
            if need not in self._done:
                self._meet(None, stage_named(need))
        return self.context

    def settled(self) -> Context:
        """The context as far as stored results settle it: nothing is run."""
        for name in ("fetch", "patch"):
            stage = stage_named(name)
            judged, _ = self.current(stage)
            if judged is None:
                break
            self._accept(stage, judged)
        return self.context

    @property
    def workers(self) -> Workers:
        self._workers.sandbox = self.context.sandbox
        self._workers.modules = self.context.workspace.model_dir(self.context.recipe.name) / "modules"
        self._workers.expected = self.context.environment
        return self._workers

    # --- one stage

    def current(self, stage: Stage) -> tuple[Judged | None, list[str]]:
        """The stored result that holds now, or None and why not, in words."""
        context, device = self.context, self._place(stage)
        workspace, model = context.workspace, context.recipe.name
        for serving in (context, *stage.wider(context)):
            found = workspace.find(model, device, stage.name, digest(self._inputs(stage, serving)))
            if found is None:
                continue
            lapsed = stage.lapsed(context, found[0])
            if lapsed:
                return None, [lapsed]
            return self._judged(stage, found[0], str(found[1]), reused=True), []
        last = workspace.latest(model, device, stage.name)
        if last is None:
            return None, ["never measured"]
        return None, differences(last[0].inputs, self._inputs(stage, context))

    def _stage(self, stage: Stage, force: bool) -> Judged:
        judged, why = self.current(stage)
        if judged is None or force:
            self._progress(f"{stage.name}: {'asked for with --force' if force else '; '.join(why)}")
            judged = self._measure(stage)
        self._accept(stage, judged)
        return judged

    def _accept(self, stage: Stage, judged: Judged) -> None:
        self._done[stage.name] = judged
        self.context = stage.settle(self.context, judged.result)

    def _meet(self, stage: Stage | None, need: Stage) -> None:
        judged, _ = self.current(need)
        cost = "" if judged else need.cost(self.context)
        asking = stage.name if stage else "this"
        model = self.context.recipe.name
        if cost:
            raise NpukitError("stage.needs", stage=asking, need=need.name, cost=cost, model=model)
        judged = self._stage(need, False)
        if not judged.passed:
            checks = ", ".join(check.id for check in judged.failed)
            raise NpukitError("stage.need-failed", stage=asking, need=need.name, checks=checks, model=model)

    def _measure(self, stage: Stage) -> Judged:
        context, workers = self.context, self.workers
        inputs = self._inputs(stage, context)
        started, clock = datetime.now(timezone.utc), time.perf_counter()
        stage.prepare(context, workers)
        measured = stage.measure(context, workers, self._progress)
        result = StageResult(
            stage=stage.name,
            model=context.recipe.name,
            device=self._place(stage),
            key=digest(inputs),
            inputs=inputs,
            environment=context.environment,
            measured=measured,
            started=started.isoformat(timespec="seconds"),
            duration_s=round(time.perf_counter() - clock, 3),
            npukit=__version__,
            emulated=context.options.emulated and stage.on_device,
        )
        path = context.workspace.save(result)
        return self._judged(stage, result, str(path), reused=False)

    def _judged(self, stage: Stage, result: StageResult, path: str, *, reused: bool) -> Judged:
        return Judged(result, stage.judge(self.context.recipe, result), reused, path)

    def _place(self, stage: Stage) -> str:
        return str(self.context.device) if stage.on_device else HOST

    def _inputs(self, stage: Stage, context: Context) -> dict[str, str]:
        common = {"stage": stage.identity}
        where = {"environment": context.environment, "emulated": context.options.emulated}
        return named({**common, **stage.inputs(context), **(where if stage.on_device else {})})
