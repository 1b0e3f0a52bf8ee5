"""How a person reads findings of the knowledge base: wherever a log is explained, they look the same."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from npukit.knowledge import Advice, Finding

SEVERITY_STYLE = {
    "fatal": "bold red",
    "phantom": "bold cyan",
    "silent-wrong": "bold magenta",
    "slow": "yellow",
    "noise": "dim",
}
CHINESE = {
    "fatal": "致命",
    "phantom": "并不存在",
    "silent-wrong": "结果错误而无报错",
    "slow": "变慢",
    "noise": "噪声",
    "confirmed": "已确认",
    "source": "据源码",
    "likely": "很可能",
}
SOURCES_SHOWN = 3


def write_findings(console: Console, findings: Iterable[Finding], lang: str) -> None:
    """Each finding with its line, cause, what to type and sources; noise in one paragraph at the end."""
    told = [finding for finding in findings if finding.severity != "noise"]
    noise = [finding for finding in findings if finding.severity == "noise"]
    for finding in told:
        _one(console, finding, lang)
        console.print()
    if noise:
        heading = "也出现过，但不是原因：" if lang == "zh" else "Also there, and not the cause:"
        console.print(f"[dim]{heading}[/dim]")
        for finding in noise:
            console.print(
                Padding(f"[dim]{escape(finding.title)} ({_where(finding, lang)})[/dim]", (0, 0, 0, 2))
            )


def write_advice(console: Console, advice: Advice, lang: str) -> None:
    """What is said of a log in which nothing is known."""
    console.print(escape(advice.what))
    for suspect in advice.suspects:
        line = f"{'第' if lang == 'zh' else 'line'} {suspect.line}{' 行' if lang == 'zh' else ''}"
        console.print(Padding(f"[dim]{line}[/dim]  {escape(suspect.text)}", (0, 0, 0, 2)))
    if advice.collect:
        console.print()
        console.print("[bold]需要收集的信息[/bold]" if lang == "zh" else "[bold]What to collect[/bold]")
        for step in advice.collect:
            _typed(console, step, indent=2)


def _one(console: Console, finding: Finding, lang: str) -> None:
    marks = f"{_word(finding.severity, lang)} · {_word(finding.confidence, lang)}"
    style = SEVERITY_STYLE[finding.severity]
    console.print(f"[{style}]{finding.rank}. {escape(finding.title)}[/{style}]  [dim]{marks}[/dim]")
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    where, why, typed, see = ("位置", "原因", "处理", "来源") if lang == "zh" else ("at", "why", "do", "see")
    grid.add_row(f"   {where}", f"[dim]{_where(finding, lang)}: {escape(finding.excerpt)}[/dim]")
    grid.add_row(
        f"   {why}", escape(" ".join(finding.cause.split("\n")) if lang == "en" else _joined(finding.cause))
    )
    console.print(grid)
    console.print(f"   [bold]{typed}[/bold]")
    for line in finding.remedy.splitlines():
        _typed(console, line, indent=6)
    for url in finding.sources[:SOURCES_SHOWN]:
        console.print(f"   [dim]{see} {escape(url)}[/dim]", soft_wrap=True)


def _typed(console: Console, line: str, indent: int) -> None:
    """One line to type. Where it does not fit, its comment stands above it: the command stays whole."""
    margin = " " * indent
    command, mark, comment = line.partition("  # ")
    if mark and indent + cell_len(line) > console.width:
        for part in textwrap.wrap(comment, max(20, console.width - indent - 2)):
            console.print(f"{margin}[dim]# {escape(part)}[/dim]", soft_wrap=True)
        command, mark, comment = command.rstrip(), "", ""
    console.print(
        f"{margin}[green]{escape(command)}[/green][dim]{mark}{escape(comment)}[/dim]", soft_wrap=True
    )


def _where(finding: Finding, lang: str) -> str:
    times = "" if finding.count == 1 else f" ×{finding.count}"
    return f"第 {finding.line} 行{times}" if lang == "zh" else f"line {finding.line}{times}"


def _word(word: str, lang: str) -> str:
    return CHINESE[word] if lang == "zh" else word


def _joined(text: str) -> str:
    """Chinese text is broken without blanks."""
    return "".join(text.split("\n"))
