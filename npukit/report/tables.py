"""Markdown tables whose cells may hold anything."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A GitHub table; every cell stands as it is given."""
    safe = [[cell(str(value)) for value in row] for row in rows]
    return tabulate(safe, headers=headers, tablefmt="github", disable_numparse=True)


def cell(text: str) -> str:
    """Text that stays in its cell: a pipe or a line end would leave it."""
    return text.replace("|", "\\|").replace("\r", "").replace("\n", " ⏎ ")


def literal(text: str) -> str:
    """A model's or a user's words, as they are: no Markdown in them."""
    text = " ⏎ ".join(line for line in text.strip().splitlines() if line.strip())
    for mark in "\\`*_<>[]#~!":
        text = text.replace(mark, "\\" + mark)
    return text or "∅"
