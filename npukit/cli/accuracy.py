"""``npukit accuracy``: how far candidates are from a reference, set against the noise of their dtype."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
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
    ModelArgument,
    ModelOption,
    WaitOption,
)
from npukit.cli.output import Output, console
from npukit.cli.stage_view import print_stage
from npukit.errors import ExitStatus, NpukitError
from npukit.metrics import METRICS
from npukit.pipeline import Pipeline
from npukit.prompts import read_prompts
from npukit.sides import parse_side
from npukit.stages.accuracy import Accuracy, Recorded


def accuracy(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    accelerate: AccelerateOption = True,
    candidate: Annotated[
        list[str] | None,
        typer.Option("--candidate", help="What is judged, as npu:bf16; several are judged in turn."),
    ] = None,
    reference: Annotated[
        str, typer.Option("--reference", help="What is believed.", metavar="DEVICE:DTYPE")
    ] = "cpu:fp32",
    prompts: Annotated[
        Path | None, typer.Option("--prompts", help="A .jsonl file of prompts instead of the recipe's.")
    ] = None,
    capture: Annotated[
        Path | None,
        typer.Option("--capture", help="Only record the reference to this file, to be taken elsewhere."),
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", help="Compare with this recorded reference.")
    ] = None,
    bisect: Annotated[
        bool, typer.Option("--bisect", help="Find the first module, and operator, where the two part.")
    ] = False,
    suite: Annotated[
        Path | None, typer.Option("--suite", help="Score a question set (.toml) on both sides, too.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain-metrics", help="Say what every figure means, and nothing else.")
    ] = False,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Compare the model on this device, in this dtype, with a reference: fp32 on the CPU."""
    out = Output(json, lang)
    if explain:
        return _explain(out)
    if candidate and dtype:
        raise NpukitError("accuracy.dtype-twice")
    sides = [parse_side(text) for text in candidate or ()]
    asked: list[tuple[str, str]] = [(str(side.device), side.dtype) for side in sides]

    def opened(device_name: str, dtype_name: str) -> Pipeline:
        pipeline = open_pipeline(
            out,
            model,
            model_option,
            device=device_name,
            emulated=emulated,
            wait_s=wait,
            dtype=dtype_name,
            accelerate=accelerate,
            reference=str(parse_side(reference)),
            bisect=bisect,
            suite=str(suite.absolute()) if suite else "",
            against=str(against.absolute()) if against else "",
        )
        if prompts is not None:
            recipe = dataclasses.replace(pipeline.context.recipe, prompts=read_prompts(prompts))
            pipeline.context = dataclasses.replace(pipeline.context, recipe=recipe)
        return pipeline

    if capture is not None:
        return _capture(out, opened("cpu", ""), capture)
    documents: list[dict[str, Any]] = []
    passed = True
    for device_name, dtype_name in asked or [(device, dtype or "")]:
        with opened(device_name, dtype_name) as pipeline:
            judged = pipeline.run("accuracy", force=force)
        documents.append(judged.to_json())
        passed &= judged.passed
        if not json:
            print_stage(console(), judged)
    document = documents[0] if len(documents) == 1 else {"passed": passed, "candidates": documents}
    out.emit(document, lambda terminal: None)
    return int(ExitStatus.PASSED if passed else ExitStatus.FAILED)


def _capture(out: Output, pipeline: Pipeline, path: Path) -> int:
    """Record the reference, wherever the device is."""
    stage = Accuracy()
    with pipeline:
        context = pipeline.ready()
        recorded: Recorded = stage.reference(context)
        with pipeline.workers.aside(recorded.side.device) as worker:
            about = stage.record(context, worker, recorded, path.absolute())
    document = {"capture": str(path), **about}
    out.emit(document, lambda terminal: terminal.print(f"recorded {recorded.side} to {path}"))
    return int(ExitStatus.PASSED)


def _explain(out: Output) -> int:
    rows = [dataclasses.asdict(metric) for metric in METRICS]

    def human(terminal: Console) -> None:
        table = Table(show_edge=False, pad_edge=False)
        for title in (("figure", "指标"), ("is", "公式"), ("meaning", "含义"), ("decides", "用于判定")):
            table.add_column(out.say(*title), overflow="fold")
        for metric in METRICS:
            table.add_row(
                metric.name, metric.formula, out.say(metric.en, metric.zh), "✓" if metric.decides else ""
            )
        terminal.print(table)

    out.emit({"metrics": rows}, human)
    return int(ExitStatus.PASSED)
