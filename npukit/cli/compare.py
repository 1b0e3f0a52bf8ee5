"""``npukit compare``: two results, reports or machines: what changed, and what got worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from npukit.cli.options import JsonOption, LangOption
from npukit.cli.output import VERDICT_STYLE, Output
from npukit.comparison import ALPHA, LIMIT, Change, StageComparison
from npukit.comparison import compare as compared
from npukit.errors import ExitStatus, NpukitError
from npukit.resultfiles import read_results
from npukit.results import Judged

Side = Annotated[
    Path, typer.Argument(help="A report's directory, its results.json, a result's file, or a home.")
]


def compare(
    before: Side,
    after: Side,
    limit: Annotated[
        float, typer.Option("--limit", min=0.0, help="The share by which a figure may get worse.")
    ] = LIMIT,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Compare two sets of results; exit 1 when something got worse beyond the limit."""
    out = Output(json, lang)
    left, right = read_results(before), read_results(after)
    stages = compared(left, right, limit)
    if not stages:
        raise NpukitError(
            "results.nothing-shared",
            before=str(before),
            after=str(after),
            held=_held(left),
            other=_held(right),
        )
    worse = any(stage.worse for stage in stages)

    def human(console: Console) -> None:
        for stage in stages:
            _print(console, stage, out)
        told = (
            out.say("worse beyond the limit", "有指标劣化超出限值")
            if worse
            else out.say("nothing got worse", "没有劣化")
        )
        console.print(f"\n[{'bold red' if worse else 'green'}]{told}[/]")

    out.emit({"worse": worse, "limit": limit, "stages": [stage.to_json() for stage in stages]}, human)
    return int(ExitStatus.FAILED if worse else ExitStatus.PASSED)


def _held(results: list[Judged]) -> str:
    return ", ".join(sorted({f"{judged.result.model} {judged.result.stage}" for judged in results}))


def _print(console: Console, stage: StageComparison, out: Output) -> None:
    verdicts = " → ".join(f"[{VERDICT_STYLE[v]}]{v}[/]" for v in dict.fromkeys(stage.verdict))
    console.print(f"\n[bold]{stage.stage}[/bold]  {escape(stage.model)}  {verdicts}")
    for change in stage.environment:
        console.print(f"  [dim]{escape(change)}[/dim]", soft_wrap=True)
    for id, old, new in stage.checks:
        console.print(f"  {id}  [{VERDICT_STYLE[old]}]{old}[/] → [{VERDICT_STYLE[new]}]{new}[/]")
    for prompt, old, new in stage.answers:
        console.print(f"  {escape(prompt)}  {escape(repr(old))} → {escape(repr(new))}", soft_wrap=True)
    if stage.figures:
        table = Table(show_edge=False, pad_edge=False)
        titles = (
            ("figure", "指标"),
            ("before", "之前"),
            ("after", "之后"),
            ("change", "变化"),
            ("significance", "显著性"),
        )
        for index, title in enumerate(titles):
            table.add_column(out.say(*title), justify="left" if index in (0, 4) else "right")
        for figure in stage.figures:
            table.add_row(*_row(figure, out))
        console.print(table)


def _row(figure: Change, out: Output) -> tuple[str, ...]:
    share = "-" if figure.ratio is None else f"{figure.ratio - 1:+.1%}"
    share = f"[bold red]{share}[/]" if figure.worse else share
    if figure.p is None:
        sure = out.say("not tested", "未检验")
    else:
        sure = f"p = {figure.p:.2g}" + (
            "" if figure.p < ALPHA else out.say(", noise explains it", "，可由噪声解释")
        )
    return figure.name, f"{figure.before:.6g}", f"{figure.after:.6g}", share, sure
