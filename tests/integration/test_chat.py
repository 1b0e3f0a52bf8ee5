"""Conversations at a terminal and through pipes, on the embedded model."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from npukit.builtin import picture
from npukit.conversation import Conversation
from tests.fixtures.terminal import Terminal
from tests.fixtures.videos import write_video
from tests.integration.conftest import MODEL, Npukit, environment

ROOT = Path(__file__).parents[2]
QUESTION = "What is in this image? How many animals?"
PROMPT = "> $"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """A conversation at a terminal; it is ended with the test."""
    opened = []

    def start(*arguments: object) -> Terminal:
        command = [sys.executable, "-m", "npukit", "chat", MODEL, "--device", "cpu", *map(str, arguments)]
        shown = Terminal(command, environment(tmp_path / "home"), ROOT)
        opened.append(shown)
        shown.wait_for(PROMPT)
        return shown

    yield start
    for shown in opened:
        shown.__exit__()


def say(shown: Terminal, line: str) -> str:
    shown.type(f"{line}\n")
    return shown.wait_for(PROMPT)


def worker_pid(parent: int) -> int:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True)
    return int(listed.stdout.split()[0])


def test_a_conversation(terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    shown = terminal("--image", picture("two-cats.png"))
    assert "2 image" in say(shown, f"/image {picture('three-dogs.png')}")
    first = say(shown, "What is in each image?")
    assert "two cats, three dogs" in first
    assert re.search(r"\d+ tokens · first after [\d.]+ s · [\d.]+ tokens/s", first)
    assert "two cats, three dogs" in say(shown, "/retry")
    assert "1 image" in say(shown, f"/image {picture('one-cat.png')}")  # one in the middle
    assert "tokens/s" in say(shown, QUESTION)

    # what cannot be is explained, and the conversation goes on
    assert "no picture" in say(shown, "/image /no/such.png")
    assert "the nearest is /help" in say(shown, "/hlep")
    assert "at most 1" in say(shown, "/set top_p 7")

    # Ctrl-C stops the answer and not the program
    say(shown, "/set max_new_tokens 3000")
    assert "3000" in say(shown, "/set min_new_tokens 3000")
    shown.type("Say hello.\n")
    shown.wait_for("hello")
    shown.type("\x03")
    assert "stopped" in shown.wait_for(PROMPT)

    # the worker is killed in the middle of an answer: explained, kept, and asked again it answers
    shown.type("Say hello.\n")
    shown.wait_for("Say hello.\n(.|\n)*hello")
    os.kill(worker_pid(shown.process.pid), signal.SIGKILL)
    assert "the worker process was killed" in shown.wait_for(PROMPT)
    say(shown, "/set max_new_tokens 20")
    say(shown, "/set min_new_tokens default")
    assert re.search(r"hello\s+\d+ tokens", say(shown, "/retry"))

    # several lines, pasted and typed
    shown.type("\x1b[200~one\ntwo\x1b[201~")
    shown.wait_for("two")
    say(shown, "")
    say(shown, "three \\\nfour")
    assert "saved" in say(shown, f"/save {tmp_path / 'talk.json'}")
    talk = Conversation.load(tmp_path / "talk.json")
    assert [message["content"][-1]["text"] for message in talk.messages[-4::2]] == [
        "one\ntwo",
        "three \nfour",
    ]
    kinds = [[part["type"] for part in message["content"]] for message in talk.messages[:4:2]]
    assert kinds == [["image", "image", "text"], ["image", "text"]]

    say(shown, "/clear")
    assert "read" in say(shown, "Say hello.")
    assert f"{talk.turns} turns" in say(shown, f"/load {tmp_path / 'talk.json'}")
    shown.type("\x04")
    assert shown.wait_for_end() == 0


def test_the_history_is_there_the_next_time(terminal: Callable[..., Terminal]) -> None:
    shown = terminal()
    say(shown, "/set seed 42")
    shown.type("/quit\n")
    assert shown.wait_for_end() == 0
    again = terminal()
    again.type("\x1b[A\x1b[A\n")  # up, up: the line before /quit
    assert re.search(r"seed\s+│ 42", again.wait_for(PROMPT))
    again.type("\x03")
    assert "Ctrl-D to leave" in again.wait_for(PROMPT)


def test_a_pipe_gets_plain_text(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "npukit", "chat", MODEL, "--image", picture("three-dogs.png")],
        input=f"{QUESTION}\n",
        capture_output=True,
        text=True,
        env=environment(tmp_path / "home"),
        cwd=ROOT,
        check=False,
    )
    assert (said.returncode, said.stdout) == (0, "three dogs\n"), said.stderr
    assert "\x1b" not in said.stderr


def test_a_pipe_of_another_encoding_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from npukit.cli.chat import _asked

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" caf\xe9?\n")))
    assert _asked(None) == "caf\ufffd?"
    assert _asked(" given ") == "given"


def test_every_option_reaches_the_processor_and_the_model(npukit: Npukit, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("two-cats.png", "three-cats-large.png"):
        (folder / name).write_bytes(picture(name).read_bytes())
    with Image.open(picture("two-cats.png")) as scene:
        film = write_video(tmp_path / "film.mp4", [scene.convert("RGB").resize((112, 112))], seconds=2)
    seen = ["--image", folder, "--video", film, "--fps", 2, "--max-frames", 3, "--stack-frames", 2]
    said = npukit("chat", MODEL, "--downsample", "4x", "--max-slices", 1, *seen, "-q", QUESTION, "--json")
    # 112 pixels make 16 tokens at 4x: two pictures, and three frames each with a stacked one beside it
    assert said.document["measured"]["prompt_tokens"] > (2 + 3 + 3) * 16
    assert said.document["answer"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--question", ""], "chat.no-question"),
        (["--question", "x", "--temperature", "-1"], "generate.bad-setting"),
        (["--question", "x", "--video", "/no/such.mp4"], "video.missing"),
        (["--question", "How many animals? " * 2000], "generate.context-overflow"),
    ],
)
def test_errors_are_documents(npukit: Npukit, arguments: list[str], code: str) -> None:
    said = npukit("chat", MODEL, *arguments, "--json")
    assert (said.status, said.document["error"]["code"]) == (2, code)
