"""The conversation at a terminal: what is typed, what is answered, what interrupts."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

from rich.markup import escape
from rich.table import Table

from npukit import attachments
from npukit.answer import Answer, Piece
from npukit.answering import Answering
from npukit.cli.answer_view import AnswerView, print_footer
from npukit.cli.commands import USAGES, Command, parse, paths
from npukit.cli.line_reader import LineReader
from npukit.cli.output import Output, console, write_error
from npukit.conversation import Conversation
from npukit.decoding import Decoding
from npukit.errors import NpukitError
from npukit.workspace import Workspace

SECOND_INTERRUPT_S = 2.0


class Repl:
    """One conversation. It is kept on disk after every turn, whatever becomes of the worker."""

    def __init__(
        self,
        answering: Answering,
        conversation: Conversation,
        decoding: Decoding,
        out: Output,
        *,
        show_thinking: bool,
        sampling: dict[str, Any],
    ) -> None:
        self._answering, self._conversation, self._decoding, self._out = (
            answering,
            conversation,
            decoding,
            out,
        )
        self._show_thinking, self._sampling = show_thinking, sampling
        self._workspace: Workspace = answering.context.workspace
        self._model = answering.context.recipe.name
        self._unanswered = ""

    @property
    def _kept(self) -> Path:
        return self._workspace.root / "conversations" / f"{self._model}.json"

    def run(self) -> None:
        """Until Ctrl-D or /quit."""
        context = self._answering.context
        self._say(f"{context.recipe.title} · {context.device} · {context.dtype} · /help")
        with LineReader(self._workspace.root / "chat-history.json", list(USAGES)) as reader:
            while True:
                try:
                    line = reader.read("> ").strip()
                except EOFError:
                    self._say("")
                    return
                except KeyboardInterrupt:
                    self._say(self._out.say("\n/quit or Ctrl-D to leave", "\n输入 /quit 或按 Ctrl-D 退出"))
                    continue
                if not self._take(line):
                    return

    def _take(self, line: str) -> bool:
        """Do what a line says; False to leave. An error is explained, and the conversation goes on."""
        try:
            command = parse(line)
            if command is None:
                if line:
                    self._ask(line)
            elif command.name == "/quit":
                return False
            else:
                DOINGS[command.name](self, command)
        except NpukitError as error:
            write_error(error, False, self._out.lang)
        except KeyboardInterrupt:
            self._say(self._out.say("interrupted", "已中断"))
        return True

    # --- asking

    def _ask(self, question: str) -> None:
        self._unanswered = question
        try:
            answer = answer_shown(
                self._answering,
                self._conversation.asking(question),
                self._decoding,
                self._out,
                self._show_thinking,
            )
            self._conversation.answered(question, answer.text)
            self._unanswered = ""
            print_footer(self._out, answer)
        finally:
            self._conversation.save(self._kept, self._model)

    # --- commands

    def _image(self, command: Command) -> None:
        downloads = self._workspace.root / "downloads"
        for path in paths(command.argument):
            self._conversation.attach(attachments.pictures(path, downloads))
        self._say_waiting()

    def _video(self, command: Command) -> None:
        for path in paths(command.argument):
            self._conversation.attach([attachments.video(path, **self._sampling)])
        self._say_waiting()

    def _system(self, command: Command) -> None:
        self._conversation.system = command.argument

    def _set(self, command: Command) -> None:
        if command.argument:
            name, _, value = command.argument.partition(" ")
            self._decoding = self._decoding.changed(name, value.strip())
        table = Table(show_header=False, show_edge=False, pad_edge=False)
        for name, value in self._decoding.to_json().items():
            mine = self._out.say("as the model says", "由模型决定") if value is None else repr(value)
            table.add_row(name, escape(mine))
        console().print(table)

    def _retry(self, command: Command) -> None:
        question = self._unanswered or self._conversation.take_back()
        if not question:
            raise NpukitError("chat.no-question")
        self._ask(question)

    def _clear(self, command: Command) -> None:
        self._conversation.clear()
        self._unanswered = ""

    def _save(self, command: Command) -> None:
        path = Path(command.argument).expanduser() if command.argument else self._kept
        self._conversation.save(path, self._model)
        self._say(self._out.say(f"saved: {path}", f"已保存：{path}"))

    def _load(self, command: Command) -> None:
        path = Path(command.argument).expanduser() if command.argument else self._kept
        self._conversation = Conversation.load(path)
        self._unanswered = ""
        turns = self._conversation.turns
        self._say(self._out.say(f"{turns} turns from {path}", f"已载入 {turns} 轮：{path}"))

    def _help(self, command: Command) -> None:
        table = Table(show_header=False, show_edge=False, pad_edge=False)
        for name, usage in USAGES.items():
            table.add_row(name, escape(usage.argument), self._out.say(usage.en, usage.zh))
        console().print(table)
        self._say(
            self._out.say(
                "a backslash at a line's end goes on; Ctrl-C stops an answer",
                "行尾的反斜杠表示续行；Ctrl-C 停止回答",
            )
        )

    def _say_waiting(self) -> None:
        kinds = [part["type"] for part in self._conversation.waiting]
        count = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("image", "video") if kind in kinds)
        self._say(self._out.say(f"with the next question: {count}", f"随下一个问题发送：{count}"))

    def _say(self, text: str) -> None:
        console().print(f"[dim]{escape(text)}[/dim]", soft_wrap=True)


DOINGS: dict[str, Callable[[Repl, Command], None]] = {
    "/image": Repl._image,
    "/video": Repl._video,
    "/system": Repl._system,
    "/set": Repl._set,
    "/retry": Repl._retry,
    "/clear": Repl._clear,
    "/save": Repl._save,
    "/load": Repl._load,
    "/help": Repl._help,
}


def answer_shown(
    answering: Answering,
    messages: list[dict[str, Any]],
    decoding: Decoding,
    out: Output,
    show_thinking: bool,
) -> Answer:
    """One answer, shown while it comes. Ctrl-C stops it; a second one at once ends the worker."""
    with AnswerView(out, show_thinking) as view, _interruptible(answering) as cancelled:
        for piece in answering.ask(messages, decoding, cancelled):
            if isinstance(piece, Piece):
                view.show(piece)
            else:
                return piece
    raise AssertionError("an answer ends with itself or an error")


@contextlib.contextmanager
def _interruptible(answering: Answering) -> Iterator[Event]:
    cancelled = Event()
    last = -SECOND_INTERRUPT_S

    def interrupt(number: int, frame: Any) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECOND_INTERRUPT_S:
            if not answering.abort():
                raise KeyboardInterrupt  # torch is being started: that has no answer to stop
        else:
            answering.cancel(cancelled)
        last = now

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield cancelled
    finally:
        signal.signal(signal.SIGINT, before)
