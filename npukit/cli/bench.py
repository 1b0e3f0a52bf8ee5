"""``npukit bench``: speed and memory, numbers that can be compared."""

from __future__ import annotations

from typing import Annotated

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
    WaitOption,
    WarmupOption,
)
from npukit.cli.output import Output
from npukit.cli.stage_view import print_stage
from npukit.errors import ExitStatus


def bench(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    accelerate: AccelerateOption = True,
    rounds: RoundsOption = None,
    warmup: WarmupOption = None,
    new_tokens: NewTokensOption = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, help="End after this time, but not before 3 rounds.")
    ] = None,
    tokens: Annotated[
        int,
        typer.Option("--tokens", min=0, help="Generate this many more without a pause, and watch memory."),
    ] = 0,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Measure latency, throughput and memory under stated conditions."""
    out = Output(json, lang)
    with open_pipeline(
        out,
        model,
        model_option,
        device=device,
        emulated=emulated,
        wait_s=wait,
        dtype=dtype or "",
        accelerate=accelerate,
        rounds=rounds,
        warmup=warmup,
        new_tokens=new_tokens,
        seconds=seconds,
        sustained_tokens=tokens,
    ) as pipeline:
        judged = pipeline.run("bench", force=force)
    out.emit(judged.to_json(), lambda console: print_stage(console, judged))
    return int(ExitStatus.PASSED if judged.passed else ExitStatus.FAILED)
