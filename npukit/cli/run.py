"""``npukit run``: all stages over one model or several, one worker each, then the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    AccelerateOption,
    DeviceOption,
    DtypeOption,
    EmulatedOption,
    ForceOption,
    JsonOption,
    LangOption,
    ModelOption,
    NewTokensOption,
    RoundsOption,
    StrictOption,
    TrustOption,
    WaitOption,
    WarmupOption,
)
from npukit.cli.output import VERDICT_STYLE, Output, console, write_error
from npukit.cli.report import screenshots
from npukit.cli.stage_view import print_stage, summary
from npukit.errors import ExitStatus, NpukitError
from npukit.junit import Outcome, junit_xml, markdown_summary
from npukit.pipeline import Pipeline
from npukit.report import gather, write_report
from npukit.stages import NAMES, stage_named
from npukit.workspace import write_atomic


def run(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="One model or several: as for the other commands, or a directory of recipes.",
            show_default=False,
        ),
    ] = None,
    model_option: ModelOption = None,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    accelerate: AccelerateOption = True,
    strict: StrictOption = False,
    trust_remote_code: TrustOption = False,
    first: Annotated[str, typer.Option("--from", help="Start with this stage.", metavar="STAGE")] = NAMES[0],
    last: Annotated[str, typer.Option("--until", help="End with this stage.", metavar="STAGE")] = NAMES[-1],
    only: Annotated[str | None, typer.Option("--only", help="This stage alone.", metavar="STAGE")] = None,
    rounds: RoundsOption = None,
    warmup: WarmupOption = None,
    new_tokens: NewTokensOption = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Where the report goes; the default is ./report/MODEL. Of several: below it."
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Write every check as JUnit XML to this file.")
    ] = None,
    step_summary: Annotated[
        Path | None,
        typer.Option("--summary", help='Add a Markdown table to this file, say "$GITHUB_STEP_SUMMARY".'),
    ] = None,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Run every stage over one model, or over several, and write the report of each."""
    out = Output(json, lang)
    stages = _chosen(only or first, only or last)
    asked = [name for word in models or () for name in recipes_in(word)]

    def one(model: str | None, directory: Path | None) -> tuple[Outcome, Path]:
        pipeline = open_pipeline(
            out,
            model,
            model_option,
            device=device,
            emulated=emulated,
            wait_s=wait,
            dtype=dtype or "",
            accelerate=accelerate,
            strict=strict,
            trust_remote_code=trust_remote_code,
            rounds=rounds,
            warmup=warmup,
            new_tokens=new_tokens,
        )
        return _run(pipeline, stages, force, directory, out)

    if len(asked) > 1:
        return _matrix(out, asked, one, out_dir, junit, step_summary)
    outcome, report = one(asked[0] if asked else None, out_dir)
    _write([outcome], junit, step_summary)

    def human(terminal: Console) -> None:
        terminal.print("\n[bold]summary[/bold]")
        for judged in outcome.stages:
            terminal.print(summary(judged))
        terminal.print(f"report: {report}")

    out.emit(_document(outcome, report), human)
    return int(ExitStatus.PASSED if outcome.passed else ExitStatus.FAILED)


def recipes_in(word: str) -> list[str]:
    """The recipes of a directory that holds some (a model's has a config.json), else the word itself."""
    directory = Path(word).expanduser()
    if os.sep not in word or not directory.is_dir() or (directory / "config.json").exists():
        return [word]
    return sorted(map(str, directory.glob("*.toml"))) or [word]


def _run(
    pipeline: Pipeline, stages: Sequence[str], force: bool, directory: Path | None, out: Output
) -> tuple[Outcome, Path]:
    """All stages over one model, and its report."""
    done = []
    with pipeline:
        for judged in pipeline.chain(stages, force=force):
            done.append(judged)
            if not out.json:
                print_stage(console(), judged)
        context = pipeline.context
        context.workspace.remember(context.recipe.name)
    name, evidence = context.recipe.name, gather(context)
    place = directory or Path("report") / name
    return Outcome(name, done), write_report(evidence, place, out.lang, screenshots=screenshots(evidence))


def _matrix(
    out: Output,
    models: Sequence[str],
    one: Callable[[str, Path | None], tuple[Outcome, Path]],
    out_dir: Path | None,
    junit: Path | None,
    step_summary: Path | None,
) -> int:
    """Several models, one after the other; one that cannot be run does not stop the others."""
    outcomes: list[Outcome] = []
    documents: list[dict[str, Any]] = []
    worst = ExitStatus.PASSED
    for model in models:
        name = Path(model).stem if model.endswith(".toml") else model.strip("./").replace("/", "--")
        try:
            outcome, report = one(model, out_dir / name if out_dir else None)
            documents.append(_document(outcome, report))
            worst = max(worst, ExitStatus.PASSED if outcome.passed else ExitStatus.FAILED)
        except NpukitError as error:
            write_error(error, False, out.lang)
            outcome = Outcome(model, error=f"{error.code}: {error.message(out.lang).what}")
            documents.append({"model": model, "passed": False, "error": error.to_json(out.lang)})
            worst = max(worst, error.status)
        outcomes.append(outcome)
    _write(outcomes, junit, step_summary)
    out.emit(
        {"passed": worst == ExitStatus.PASSED, "models": documents},
        lambda terminal: _table(terminal, outcomes),
    )
    return int(worst)


def _document(outcome: Outcome, report: Path) -> dict[str, Any]:
    stages = [judged.to_json() for judged in outcome.stages]
    return {"model": outcome.model, "passed": outcome.passed, "stages": stages, "report": str(report)}


def _table(terminal: Console, outcomes: Sequence[Outcome]) -> None:
    names = list(dict.fromkeys(judged.result.stage for one in outcomes for judged in one.stages))
    table = Table(title="summary", title_justify="left", title_style="bold", show_edge=False, pad_edge=False)
    for column in ("model", *names, ""):
        table.add_column(column, overflow="fold")
    for outcome in outcomes:
        verdicts = {j.result.stage: "pass" if j.passed else "fail" for j in outcome.stages}
        cells = [
            f"[{VERDICT_STYLE[verdicts[name]]}]{verdicts[name]}[/]" if name in verdicts else "-"
            for name in names
        ]
        table.add_row(
            escape(outcome.model), *cells, f"[bold red]{escape(outcome.error)}[/]" if outcome.error else ""
        )
    terminal.print()
    terminal.print(table)


def _write(outcomes: Sequence[Outcome], junit: Path | None, step_summary: Path | None) -> None:
    if junit:
        write_atomic(junit, junit_xml(outcomes))
    if step_summary:
        before = step_summary.read_bytes() if step_summary.exists() else b""
        write_atomic(step_summary, before + markdown_summary(outcomes).encode())


def _chosen(first: str, last: str) -> tuple[str, ...]:
    """The stages from ``first`` to ``last``. Raises NpukitError ``stage.unknown``, ``stage.order``."""
    start, end = NAMES.index(stage_named(first).name), NAMES.index(stage_named(last).name)
    if start > end:
        raise NpukitError("stage.order", first=first, last=last, names=", ".join(NAMES))
    return NAMES[start : end + 1]
