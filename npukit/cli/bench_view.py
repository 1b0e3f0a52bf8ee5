"""How several bench results look to a person: a sweep as one table, two of them as ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from npukit.cli.stage_view import NOT_HARDWARE
from npukit.results import Judged
from npukit.rounds import CONFIDENCE, Ratio
from npukit.sweep import Row

STYLE = {"faster": "green", "slower": "bold red", "no difference seen": "yellow"}
UNKNOWN = "-"
HIDDEN = "emulated"  # an emulator's speed and memory say nothing of a card's


def print_sweep(console: Console, done: Sequence[tuple[Judged, Row]]) -> None:
    """Speed, memory and accuracy of every case, one line each."""
    table = Table(show_edge=False, pad_edge=False)
    for column in ("device", "dtype", "batch", "prompt", "new", "options"):
        table.add_column(column)
    for column in ("tokens/s", "decode/s", "allocated MB", "reserved MB", "device MB", "host MB"):
        table.add_column(column, justify="right")
    for column in ("relative L2", ""):
        table.add_column(column)
    for judged, row in done:
        result = judged.result
        conditions = result.measured["conditions"]
        memory = (row.peak_allocated_bytes, row.peak_reserved_bytes, row.used_bytes, row.host_rss_bytes)
        figures = [f"{row.tokens_per_s:.2f}", f"{row.decode_tokens_per_s:.2f}", *map(_mb, memory)]
        table.add_row(
            result.device,
            conditions["dtype"],
            str(conditions["batch"]),
            str(result.measured["prompt_tokens"]),
            str(conditions["new_tokens"]),
            escape(", ".join(map(str, conditions["generation"].values()))),
            *([HIDDEN] * len(figures) if result.emulated else figures),
            "not measured" if row.relative_l2 is None else f"{row.relative_l2:.2e}",
            "" if judged.passed else "[bold red]fail[/bold red]",
        )
    console.print(table)
    if any(judged.result.emulated for judged, _ in done):
        console.print(f"[yellow]{NOT_HARDWARE}[/yellow]")
    if any(row.relative_l2 is None for _, row in done):
        console.print("relative L2 is against the reference: npukit bench --with-accuracy measures it")


def _mb(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value / 1e6:,.1f}"


def print_ratios(console: Console, ratios: Mapping[str, Ratio], differences: Sequence[str]) -> None:
    """How many times as fast the second is, with the interval and the verdict."""
    for line in differences:
        console.print(f"[yellow]differs[/yellow] {escape(line)}", soft_wrap=True)
    table = Table(show_edge=False, pad_edge=False)
    for column in ("speed of the second", "ratio", f"{CONFIDENCE:.0%} interval", "paired rounds", "verdict"):
        table.add_column(column)
    for name, one in ratios.items():
        style = STYLE[one.verdict]
        interval = f"{one.low:.3f} to {one.high:.3f}"
        verdict = f"[{style}]{one.verdict}[/{style}]"
        table.add_row(name, f"{one.ratio:.3f}", interval, str(one.pairs), verdict)
    console.print(table)
