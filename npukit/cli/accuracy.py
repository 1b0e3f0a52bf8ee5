"""``npukit accuracy``: how far the candidate is from fp32 on the CPU."""

from __future__ import annotations

from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    DeviceOption,
    DtypeOption,
    ForceOption,
    JsonOption,
    LangOption,
    ModelArgument,
    ModelOption,
    WaitOption,
)
from npukit.cli.output import Output
from npukit.cli.stage_view import print_stage
from npukit.errors import ExitStatus


def accuracy(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    device: DeviceOption = "auto",
    dtype: DtypeOption = None,
    force: ForceOption = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Compare the model on this device, in this dtype, with fp32 on the CPU."""
    out = Output(json, lang)
    with open_pipeline(
        out,
        model,
        model_option,
        device=device,
        wait_s=wait,
        dtype=dtype or "",
    ) as pipeline:
        judged = pipeline.run("accuracy", force=force)
    out.emit(judged.to_json(), lambda console: print_stage(console, judged))
    return int(ExitStatus.PASSED if judged.passed else ExitStatus.FAILED)
