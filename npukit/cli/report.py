"""``npukit report``: the adaptation report, from what was measured and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    DeviceOption,
    DtypeOption,
    EmulatedOption,
    JsonOption,
    LangOption,
    ModelArgument,
    ModelOption,
)
from npukit.cli.output import Output
from npukit.report import write_report


def report(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="The directory to write; the default is ./report/MODEL.")
    ] = None,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Write the report of what is stored; nothing is measured."""
    out = Output(json, lang)
    with open_pipeline(
        out, model, model_option, device=device, emulated=emulated, dtype=dtype or ""
    ) as pipeline:
        context = pipeline.settled()
    path = write_report(context, out_dir or Path("report") / context.recipe.name, out.lang)
    out.emit({"report": str(path)}, lambda console: console.print(str(path)))
