"""``npukit verify``: every weight landed, the config landed, answers come from the weights, repeatable."""

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
    StrictOption,
    WaitOption,
)
from npukit.cli.output import Output
from npukit.cli.stage_view import print_stage
from npukit.errors import ExitStatus


def verify(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    accelerate: AccelerateOption = True,
    strict: StrictOption = False,
    layers: Annotated[
        bool, typer.Option("--layers", help="Count NaN, inf and saturated values in every module's output.")
    ] = False,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Prove that every weight landed and that the answers come from the weights, repeatably."""
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
        strict=strict,
        layers=layers,
    ) as pipeline:
        judged = pipeline.run("verify", force=force)
    out.emit(judged.to_json(), lambda console: print_stage(console, judged))
    return int(ExitStatus.PASSED if judged.passed else ExitStatus.FAILED)
