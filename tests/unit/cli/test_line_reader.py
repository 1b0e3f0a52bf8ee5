"""Lines as a terminal sends them: typed, pasted with and without brackets, completed, kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fixtures.terminal import Terminal

ROOT = Path(__file__).parents[3]
READ = """
import sys
from pathlib import Path
from npukit.cli.line_reader import LineReader
with LineReader(Path(sys.argv[1]), ["/help", "/image"]) as reader:
    while True:
        try:
            print("got", repr(reader.read("> ")))
        except EOFError:
            break
"""


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Callable[[], Terminal]]:
    opened = []

    def start() -> Terminal:
        shown = Terminal([sys.executable, "-c", READ, str(tmp_path / "history")], dict(os.environ), ROOT)
        opened.append(shown)
        shown.wait_for("> $")
        return shown

    yield start
    for shown in opened:
        shown.__exit__()


def got(shown: Terminal, keys: str) -> str:
    shown.type(keys)
    line = shown.wait_for("got .*\n")
    shown.wait_for("> $")
    return line[line.index("got ") + 4 :].strip()


def test_lines_that_belong_together(reader: Callable[[], Terminal]) -> None:
    shown = reader()
    assert got(shown, "hello 你好\n") == repr("hello 你好")
    assert got(shown, "one\\\ntwo\n") == repr("one\ntwo")
    assert got(shown, "\x1b[200~three\nfour\x1b[201~\n") == repr("three\nfour")
    assert got(shown, "five\nsix\nseven\n") == repr("five\nsix\nseven")  # pasted without brackets
    assert got(shown, "/he\t\n") == repr("/help")
    assert got(shown, "abd\x1b[Dc\n") == repr("abcd")  # typed before the last letter


def test_the_history_comes_back(reader: Callable[[], Terminal]) -> None:
    shown = reader()
    got(shown, "first\n")
    got(shown, "\x1b[200~two\nlines\x1b[201~\n")
    shown.type("\x04")
    assert shown.wait_for_end() == 0
    again = reader()
    assert got(again, "\x1b[A\n") == repr("two\nlines")
    assert got(again, "\x1b[A\x1b[A\x1b[A\n") == repr("first")


def test_a_history_that_is_torn_is_no_obstacle(reader: Callable[[], Terminal], tmp_path: Path) -> None:
    (tmp_path / "history").write_text('["half')
    assert got(reader(), "hello\n") == repr("hello")
