"""How one stage's outcome looks to a person; the same for a stage alone, for run and for show."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from npukit.cli.output import ChecksTable
from npukit.results import Judged
from npukit.stages import stage_named

NOT_HARDWARE = "emulated: real torch_npu on host memory; no hardware was involved"


def print_stage(console: Console, judged: Judged) -> None:
    """Figures, checks, and one line of summary."""
    result = judged.result
    console.print(f"\n[bold]{result.stage}[/bold]  {escape(result.model)} on {result.device}")
    if result.emulated:
        console.print(f"[yellow]{NOT_HARDWARE}[/yellow]")
    figures = Table(show_header=False, show_edge=False, box=None, pad_edge=False)
    figures.add_column(style="dim")
    figures.add_column(overflow="fold")
    for label, value in stage_named(result.stage).figures(result):
        figures.add_row(escape(label), escape(value))
    console.print(figures)
    console.print(ChecksTable(judged.checks))
    console.print(summary(judged))


def summary(judged: Judged) -> str:
    """One line: the verdict, how many checks, from when."""
    counts = dict.fromkeys(("pass", "fail", "skip"), 0)
    for check in judged.checks:
        counts[check.verdict] += 1
    verdict = "[green]passed[/green]" if judged.passed else "[bold red]FAILED[/bold red]"
    noun = "check" if counts["pass"] == 1 else "checks"
    skipped = f", {counts['skip']} skipped" if counts["skip"] else ""
    failed = f", {counts['fail']} failed" if counts["fail"] else ""
    when = judged.result.started.replace("T", " ").replace("+00:00", " UTC")
    how = f"reused from {when}" if judged.reused else f"measured in {judged.result.duration_s:.1f} s"
    return f"{judged.result.stage} {verdict}: {counts['pass']} {noun} passed{failed}{skipped} ({how})"
