from __future__ import annotations

from pathlib import Path

import pytest

from npukit.cli.commands import USAGES, Command, parse, paths
from npukit.cli.repl import DOINGS
from npukit.errors import NpukitError


@pytest.mark.parametrize("line", ["", "hello", "/usr/bin is what?", "/ slash", "a /help", "/Help", "//"])
def test_what_is_no_command_is_a_question(line: str) -> None:
    assert parse(line) is None


def test_commands_and_their_arguments() -> None:
    assert parse("/help") == Command("/help")
    assert parse("/set top_p  0.5 ") == Command("/set", "top_p  0.5")
    assert parse("/exit") == Command("/quit")
    assert parse("/system line one\nline two") == Command("/system", "line one\nline two")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("/hlep", "chat.unknown-command"),
        ("/xyzzy", "chat.unknown-command"),
        ("/image", "chat.needs-argument"),
    ],
)
def test_mistakes_say_what_was_meant(line: str, code: str) -> None:
    with pytest.raises(NpukitError) as caught:
        parse(line)
    assert caught.value.code == code
    caught.value.message("zh")


def test_every_command_is_done_and_explained() -> None:
    assert set(DOINGS) | {"/quit"} == set(USAGES)
    assert all(usage.en and usage.zh for usage in USAGES.values())


def test_paths_with_blanks_and_quotes(tmp_path: Path) -> None:
    odd = tmp_path / "it's a cat.png"
    odd.touch()
    assert paths(str(odd)) == [str(odd)]
    assert paths("a.png 'b c.png'") == ["a.png", "b c.png"]
    assert paths("it's.png") == ["it's.png"]
