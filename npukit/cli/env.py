"""``npukit env``: is this machine fit, and if not, what to type."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from npukit.cli.findings import wrapped
from npukit.cli.options import JsonOption, LangOption
from npukit.cli.output import Output
from npukit.errors import ExitStatus, NpukitError
from npukit.host.difference import differences, read_report
from npukit.host.fix import Fixed, fix
from npukit.host.holding import hold_free_cards
from npukit.host.machine import LocalHost
from npukit.host.report import counts, document, pasteable, worst
from npukit.host.survey import has, judge, survey
from npukit.host.verdict import Verdict, Voice
from npukit.workspace import Workspace, home

STYLES = {"ok": "green", "info": "cyan", "warn": "yellow", "fail": "bold red"}
MARGIN = 17  # columns before what was seen: the level, the area


def env(
    json: JsonOption = False,
    lang: LangOption = None,
    require: Annotated[
        str | None,
        typer.Option("--require", metavar="npu|cuda", help="Exit 3 unless one is seen to compute."),
    ] = None,
    fix_: Annotated[
        bool, typer.Option("--fix", help="Create missing directories, write a file to source; tell the rest.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the hubs.")] = False,
    paste: Annotated[
        bool, typer.Option("--paste", help="Print Markdown for an issue: no names, no tokens.")
    ] = False,
    diff: Annotated[
        tuple[Path, Path] | None, typer.Option("--diff", help="Compare two machines' --json documents.")
    ] = None,
) -> ExitStatus:
    """Judge this machine: driver, CANN, packages, a computed proof per device, hubs; and say what to type."""
    out = Output(json, lang)
    if diff:
        return _diff(out, *diff)
    if require not in (None, "npu", "cuda"):
        raise NpukitError("env.unknown-requirement", name=require)
    started = time.monotonic()
    host = LocalHost()
    with hold_free_cards(host, Workspace(home()).locks) as busy:
        facts = survey(host, str(home()), offline, busy, out.progress)
    verdicts = judge(facts, out.lang)
    unmet = require is not None and not has(facts, require)
    if unmet:
        verdicts.append(Voice(out.lang).fail(f"required.{require}"))
    fixed = fix(verdicts, home() / "env.sh") if fix_ else None
    report = {**document(facts, verdicts, time.monotonic() - started, host), "required": require}
    if fixed:
        report["fixed"] = asdict(fixed)
    out.emit(report, lambda console: _show(console, out, report, verdicts, fixed, paste))
    if unmet:
        return ExitStatus.ENVIRONMENT
    return ExitStatus.FAILED if worst(verdicts) == "fail" else ExitStatus.PASSED


def _show(
    console: Console,
    out: Output,
    report: dict[str, Any],
    verdicts: Sequence[Verdict],
    fixed: Fixed | None,
    paste: bool,
) -> None:
    if paste:
        console.print(pasteable(report), markup=False, soft_wrap=True)
        return
    last = ""
    for verdict in verdicts:
        _show_verdict(console, verdict, verdict.area if verdict.area != last else "", out)
        last = verdict.area
    tally = ", ".join(f"[{STYLES[level]}]{n} {level}[/]" for level, n in counts(verdicts).items() if n)
    console.print(f"[bold]{tally}[/bold] [dim]({report['seconds']:g} s)[/dim]")
    if fixed:
        _show_fixed(console, out, fixed, verdicts)
    elif any(verdict.fixes for verdict in verdicts):
        hint = out.say("takes the safe steps among these", "执行其中安全的步骤")
        console.print(f"npukit env --fix     [dim]# {hint}[/dim]")
    if worst(verdicts) == "fail":
        hint = out.say(
            "the same for an issue, without names or tokens", "用于反馈问题的版本，不含用户名、主机名和令牌"
        )
        console.print(f"npukit env --paste   [dim]# {hint}[/dim]")


def _show_verdict(console: Console, verdict: Verdict, area: str, out: Output) -> None:
    """One line, wrapped under itself; what to type is left unbroken so that it can be copied."""
    style = STYLES[verdict.level]
    margin = f"[{style}]{verdict.level:<6}[/][bold]{area:<11}[/bold]"
    for text, look in ((verdict.seen, ""), (verdict.cause, "dim")):
        for line in wrapped(text, max(console.width - MARGIN, 20)):
            console.print(Text.from_markup(margin) + Text(line, look), soft_wrap=True)
            margin = " " * MARGIN
    for command in verdict.remedy.splitlines():
        console.print(f"      [bold]$[/bold] {escape(command)}", soft_wrap=True)


def _show_fixed(console: Console, out: Output, fixed: Fixed, verdicts: Sequence[Verdict]) -> None:
    for path in fixed.created:
        console.print(f"{out.say('created', '已创建')} {escape(path)}", soft_wrap=True)
    for path in fixed.refused:
        console.print(f"[red]{out.say('could not create', '无法创建')}[/red] {escape(path)}", soft_wrap=True)
    if fixed.env_file:
        console.print(
            f"{out.say('written; now type', '已写入，请执行')}:  . {escape(fixed.env_file)}", soft_wrap=True
        )
    if fixed.left:
        left = [verdict.seen for verdict in verdicts if verdict.id in fixed.left]
        console.print(f"{out.say('left to you', '需要手动处理')}:", soft_wrap=True)
        for seen in left:
            console.print(f"  {escape(seen)}", soft_wrap=True)


def _diff(out: Output, a: Path, b: Path) -> ExitStatus:
    found = differences(read_report(a), read_report(b))

    def human(console: Console) -> None:
        if not found:
            console.print(out.say("the two machines agree", "两台机器一致"))
            return
        table = Table(show_edge=False, pad_edge=False)
        for column in ("", a.name, b.name):
            table.add_column(column, overflow="fold")
        for difference in found:
            table.add_row(*(escape(text) for text in (difference.name, difference.a, difference.b)))
        console.print(table)

    out.emit({"a": str(a), "b": str(b), "differences": [asdict(d) for d in found]}, human)
    return ExitStatus.PASSED
