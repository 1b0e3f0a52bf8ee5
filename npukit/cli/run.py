"""``npukit run``: all stages over one model, one worker, one model load, then the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    AccelerateOption,
    DeviceOption,
    DtypeOption,
    EmulatedOption,
    ForceOption,
    JsonOption,
    LangOption,
    ModelArgument,
    ModelOption,
    NewTokensOption,
    RoundsOption,
    StrictOption,
    TrustOption,
    WaitOption,
    WarmupOption,
)
from npukit.cli.output import Output, console
from npukit.cli.report import screenshots
from npukit.cli.stage_view import print_stage, summary
from npukit.errors import ExitStatus
from npukit.report import gather, write_report
from npukit.stages import NAMES, stage_named


def run(
    model: ModelArgument = None,
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
        Path | None, typer.Option("--out", help="Where the report goes; the default is ./report/MODEL.")
    ] = None,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Run every stage over one model and write the report."""
    out = Output(json, lang)
    names = _chosen(only or first, only or last)
    stages: list[dict[str, Any]] = []
    done = []
    with open_pipeline(
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
    ) as pipeline:
        for judged in pipeline.chain(names, force=force):
            done.append(judged)
            stages.append(judged.to_json())
            if not json:
                print_stage(console(), judged)
        context = pipeline.context
        context.workspace.remember(context.recipe.name)
    passed = all(judged.passed for judged in done)
    evidence = gather(context)
    report = write_report(
        evidence, out_dir or Path("report") / context.recipe.name, out.lang, screenshots=screenshots(evidence)
    )
    document = {"model": context.recipe.name, "passed": passed, "stages": stages, "report": str(report)}

    def human(terminal: Any) -> None:
        terminal.print("\n[bold]summary[/bold]")
        for judged in done:
            terminal.print(summary(judged))
        terminal.print(f"report: {report}")

    out.emit(document, human)
    return int(ExitStatus.PASSED if passed else ExitStatus.FAILED)


def _chosen(first: str, last: str) -> tuple[str, ...]:
    """The stages from ``first`` to ``last``. Raises NpukitError ``stage.unknown``."""
    start, end = NAMES.index(stage_named(first).name), NAMES.index(stage_named(last).name)
    return NAMES[start : end + 1]
