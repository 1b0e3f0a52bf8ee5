"""``npukit rehearse``: ``npukit run`` on the emulated NPU, the day before there is a card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npukit.cli.options import DtypeOption, ForceOption, JsonOption, LangOption, ModelArgument, ModelOption
from npukit.cli.run import run
from npukit.stages import NAMES


def rehearse(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    dtype: DtypeOption = None,
    first: Annotated[str, typer.Option("--from", help="Start with this stage.", metavar="STAGE")] = NAMES[0],
    last: Annotated[str, typer.Option("--until", help="End with this stage.", metavar="STAGE")] = NAMES[-1],
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Where the report goes; the default is ./report/MODEL.")
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Run every stage on the emulated NPU: the real torch_npu on host memory. Two rounds stand for speed."""
    return run(
        [model] if model else None,
        model_option,
        "npu:0",
        emulated=True,
        dtype=dtype,
        first=first,
        last=last,
        rounds=2,
        warmup=1,
        out_dir=out_dir,
        force=force,
        json=json,
        lang=lang,
    )
