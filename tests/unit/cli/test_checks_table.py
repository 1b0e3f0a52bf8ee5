"""Checks read in a narrow terminal and in a wide one: nothing is cut, nothing is left out."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from npukit.cli.output import ChecksTable
from npukit.results import Check

CHECKS = (
    Check("load.missing", True, "0 [missing] tensors", "0"),
    Check("quality.known", False, "a text at 75%", "none", "flat logits", "npukit fetch --recheck"),
)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_all_words_are_there_and_no_line_is_longer(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, no_color=True)
    with console.capture() as captured:
        console.print(ChecksTable(CHECKS))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(" ".join(lines).replace("│", " ").split())
    for text in ("load.missing", "[missing]", "75%", "flat", "→ npukit fetch", "pass", "fail"):
        assert text in words


def test_only_a_wide_terminal_has_a_column_for_what_was_expected() -> None:
    for width, columns in ((80, 2), (120, 3)):
        console = Console(file=io.StringIO(), width=width, no_color=True)
        with console.capture() as captured:
            console.print(ChecksTable(CHECKS))
        assert captured.get().splitlines()[0].count("┃") == columns
