"""How a person reads findings of the knowledge base: wherever a log is explained, they look the same."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.markup import escape
from rich.text import Text

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
_WIDE = r"\u2e80-\u9fff\uff00-\uffef"
_CLOSING = r"，。、；：）！？”’》"
_PIECES = re.compile(rf"[{_WIDE}][{_CLOSING}]*\s*|[^\s{_WIDE}]+[{_CLOSING}]*\s*|\s+")


def write_findings(console: Console, findings: Iterable[Finding], lang: str) -> None:
    """Each finding with its line, cause, what to type and sources; noise in one paragraph at the end."""
    findings = list(findings)
    told = [finding for finding in findings if finding.severity != "noise"]
    noise = [finding for finding in findings if finding.severity == "noise"]
    if not told:  # nothing else to read: say what it is and where the cause stands
        told, noise = noise, []
    for finding in told:
        _one(console, finding, lang)
        console.print()
    if noise:
        heading = "也出现过，但不是原因：" if lang == "zh" else "Also there, and not the cause:"
        console.print(f"[dim]{heading}[/dim]")
        for finding in noise:
            _prose(console, f"{finding.title} ({_where(finding, lang)})", indent=2, style="dim")


def write_advice(console: Console, advice: Advice, lang: str) -> None:
    """What is said of a log in which nothing is known."""
    console.print(escape(advice.what))
    for suspect in advice.suspects:
        line = f"{'第' if lang == 'zh' else 'line'} {suspect.line}{' 行' if lang == 'zh' else ''}"
        _prose(console, f"{line}  {suspect.text}", indent=2)
    if advice.collect:
        console.print()
        console.print("[bold]需要收集的信息[/bold]" if lang == "zh" else "[bold]What to collect[/bold]")
        for step in advice.collect:
            _typed(console, step, indent=2)


def _one(console: Console, finding: Finding, lang: str) -> None:
    marks = f"{_word(finding.severity, lang)} · {_word(finding.confidence, lang)}"
    style = SEVERITY_STYLE[finding.severity]
    heading = f"{finding.rank}. {finding.title}"
    if cell_len(f"{heading}  {marks}") <= console.width:
        console.print(Text(heading, style) + Text(f"  {marks}", "dim"))
    else:
        _prose(console, heading, indent=0, style=style)
        _prose(console, marks, indent=3, style="dim")
    where, why, typed, see = ("位置", "原因", "处理", "来源") if lang == "zh" else ("at", "why", "do", "see")
    indent = 4 + max(cell_len(where), cell_len(why))
    _prose(console, f"{_where(finding, lang)}: {finding.excerpt}", indent, where, style="dim")
    cause = " ".join(finding.cause.split("\n")) if lang == "en" else _joined(finding.cause)
    _prose(console, cause, indent, why)
    console.print(f"   [bold]{typed}[/bold]")
    for line in finding.remedy.splitlines():
        _typed(console, line, indent=6)
    for url in finding.sources[:SOURCES_SHOWN]:
        console.print(f"   [dim]{see} {escape(url)}[/dim]", soft_wrap=True)


def _prose(console: Console, text: str, indent: int, label: str = "", style: str = "") -> None:
    """Text wrapped under itself, after a label; no blanks at the ends of lines."""
    margin = f"   {label}".ljust(indent - cell_len(label) + len(label)) if label else " " * indent
    for line in wrapped(text, max(20, console.width - indent)):
        console.print(Text(margin, "bold") + Text(line, style), soft_wrap=True)
        margin = " " * indent


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns, broken at blanks and, as Chinese is written, between characters;
    closing marks stay with what they close."""
    lines = [""]
    for piece in _PIECES.findall(text):
        while cell_len(lines[-1] + piece.rstrip()) > width:
            if lines[-1]:
                lines[-1] = lines[-1].rstrip()
                lines.append("")
                continue
            head = chop_cells(piece, width)[0]  # one word wider than the line
            lines[-1], piece = head, piece[len(head) :]
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines if line.strip()]


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
