"""``npukit report``: the adaptation report, from what was measured and nothing else."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    AccelerateOption,
    DeviceOption,
    DtypeOption,
    EmulatedOption,
    JsonOption,
    LangOption,
    ModelArgument,
    ModelOption,
)
from npukit.cli.output import Output
from npukit.cli.screenshot import printed, screenshot
from npukit.cli.stage_view import print_stage
from npukit.report import Evidence, gather, write_report

FORMS = ("md", "html")


def _form(value: str) -> str:
    if value not in FORMS:
        raise typer.BadParameter(f"{value!r} is none of {', '.join(FORMS)}")
    return value


def report(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    accelerate: AccelerateOption = True,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="The directory to write; the default is ./report/MODEL.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="md, or html for one page that holds everything.", callback=_form)
    ] = "md",
    repo: Annotated[
        Path | None,
        typer.Option("--repo", help="Write a repository to publish instead, its scripts free of npukit."),
    ] = None,
    front: Annotated[
        bool, typer.Option("--front-matter", help="Begin with the YAML that model hubs read.")
    ] = False,
    pictures: Annotated[
        bool | None, typer.Option("--pictures/--no-pictures", help="The default: where matplotlib is there.")
    ] = None,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Write the report of what is stored; nothing is measured."""
    out = Output(json, lang)
    with open_pipeline(
        out, model, model_option, device=device, emulated=emulated, dtype=dtype or "",
        accelerate=accelerate,
    ) as pipeline:  # fmt: skip
        context = pipeline.settled()
    evidence = gather(context)
    if repo is not None:
        from npukit.report.repository import write_repository

        path = write_repository(
            context, evidence, repo, out.lang, pictures=pictures, screenshots=screenshots(evidence),
            logs=logs(evidence),
        )  # fmt: skip
    else:
        directory = out_dir or Path("report") / context.recipe.name
        path = write_report(
            evidence, directory, out.lang, form=form, front=front, pictures=pictures,
            screenshots=screenshots(evidence),
        )  # fmt: skip
    _tell_of_pictures(out, pictures)
    out.emit({"report": str(path)}, lambda console: console.print(str(path)))


def screenshots(evidence: Evidence) -> dict[str, bytes]:
    """The stored results as the terminal shows them, by file name."""

    def show(terminal: Console) -> None:
        for judged in evidence.results():
            print_stage(terminal, judged)

    return {"terminal.svg": screenshot(show, f"npukit run {evidence.recipe.name}")}


def logs(evidence: Evidence) -> dict[str, str]:
    """What every stage printed, by stage."""
    return {
        judged.result.stage: printed(partial(print_stage, judged=judged)) for judged in evidence.results()
    }


def _tell_of_pictures(out: Output, asked: bool | None) -> None:
    """What the pictures lack, and what to type."""
    from npukit.report.pictures import can_draw, cjk_font

    if asked is False:
        return
    if not can_draw():
        out.progress(
            out.say(
                "no pictures: pip install 'npukit[report]'", "未生成图片：请执行 pip install 'npukit[report]'"
            )
        )
    elif out.lang == "zh" and not cjk_font():
        out.progress("未找到中文字体，图片使用英文：请执行 apt-get install fonts-noto-cjk")
