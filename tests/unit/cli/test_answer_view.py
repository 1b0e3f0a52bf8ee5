"""What an answer looks like while it comes, on a terminal and in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from npukit.answer import Answer, Piece
from npukit.cli import answer_view
from npukit.cli.answer_view import AnswerView, footer, print_footer
from npukit.cli.output import Output

ANSWER = Answer("x", "", "stop", 21, 12, 450.0, 1000.0, 21.34, [])


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal of 40 columns and 10 lines."""
    stream = io.StringIO()
    terminal = Console(file=stream, force_terminal=True, width=40, height=10, color_system=None)
    monkeypatch.setattr(answer_view, "console", lambda stderr=False: terminal)
    return stream


def shown(pieces: list[Piece], *, show_thinking: bool = False) -> None:
    with AnswerView(Output(), show_thinking) as view:
        for piece in pieces:
            view.show(piece)


def test_markdown_is_shown_as_what_it_means(screen: io.StringIO) -> None:
    shown([Piece("", "# Fruit\n\n"), Piece("", "- an **ap"), Piece("", "ple**\n- a pear")])
    final = screen.getvalue()
    assert "Fruit" in final
    assert " • an apple" in final
    assert "• a pear" in final
    assert "# Fruit" not in final


def test_what_a_terminal_would_obey_never_reaches_it(screen: io.StringIO) -> None:
    shown([Piece("", "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\x08")])
    assert "\x1b]0" not in screen.getvalue()
    assert "\x07" not in screen.getvalue()
    assert "a]0;ownedb[2Jc31md" in screen.getvalue()


def test_an_answer_longer_than_the_screen_shows_its_end(screen: io.StringIO) -> None:
    numbers = "".join(f"line{n}  \n" for n in range(40))  # one block, with line breaks
    view = AnswerView(Output(), False)
    view.show(Piece("", numbers))
    assert view._live is not None
    view._live.refresh()
    growing = screen.getvalue()
    assert "line39" in growing and "line0\n" not in growing
    view.__exit__(None, None, None)
    assert "line0" in screen.getvalue()  # in the end all of it


def test_reasoning_is_folded_unless_asked_for(screen: io.StringIO) -> None:
    shown([Piece("first this", ""), Piece(" then that", ""), Piece("", "Paris")])
    assert "thought for" in screen.getvalue()
    assert "then that" not in screen.getvalue()
    shown([Piece("first this", ""), Piece(" then that", ""), Piece("", "Paris")], show_thinking=True)
    assert "first this then that" in screen.getvalue()


def test_a_pipe_gets_the_text_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    shown([Piece("hm", ""), Piece("", "# Fru"), Piece("", "it\n\nx")])
    print_footer(Output(), ANSWER)
    assert capsys.readouterr() == ("# Fruit\n\nx\n", "")
    shown([Piece("hm", ""), Piece("", "Paris")], show_thinking=True)
    said = capsys.readouterr()
    assert said.out == "Paris\n"
    assert said.err.startswith("hm")


def test_the_footer_says_how_it_came_and_ended() -> None:
    assert footer(Output(lang="en"), ANSWER) == "12 tokens · first after 0.45 s · 21.3 tokens/s · 21 read"
    cut = Answer("x", "", "length", 21, 1, 450.0, 1000.0, None, [])
    said = footer(Output(lang="en"), cut)
    assert said == "1 token · first after 0.45 s · 21 read · cut at its longest: /set max_new_tokens"
    assert "已停止" in footer(Output(lang="zh"), Answer("x", "", "cancelled", 1, 1, 1.0, 1.0, None, []))
