"""An answer on its way to the screen: Markdown that grows on a terminal, plain text anywhere else."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from npukit.answer import Answer, Piece
from npukit.cli.blocks import Blocks
from npukit.cli.output import Output, console

REFRESH_PER_S = 12
# what a terminal would obey: C0 but tab and newline, DEL, C1
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class AnswerView:
    """A context manager around one answer. Reasoning is folded to a line unless ``show_thinking``."""

    def __init__(self, out: Output, show_thinking: bool) -> None:
        self._out, self._show_thinking = out, show_thinking
        self._console = console()
        self._rich = self._console.is_terminal
        self._blocks = Blocks()
        self._live: Live | None = None
        self._thinking_since = 0.0
        self._thought = 0
        self._plain_written = False

    def __enter__(self) -> AnswerView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        rest = self._blocks.finish()
        self._end_live()
        if self._plain_written:
            sys.stdout.write("\n")
            sys.stdout.flush()
        if rest.strip():
            self._console.print(Markdown(rest.rstrip()))

    def show(self, piece: Piece) -> None:
        """Add what the answer grew by."""
        if piece.reasoning:
            self._think(piece.reasoning)
        if piece.text:
            self._end_thinking()
            self._write(piece.text)

    def _write(self, text: str) -> None:
        if not self._rich:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._plain_written = True
            return
        done = self._blocks.push(CONTROLS.sub("", text))
        if done.strip():
            self._end_live()
            self._console.print(Markdown(done.strip("\n")))
            self._console.print()
        if self._blocks.open.strip():
            self._update(Markdown(self._blocks.open))

    def _think(self, text: str) -> None:
        self._thinking_since = self._thinking_since or time.monotonic()
        self._thought += len(text.split())
        if self._show_thinking and self._rich:
            self._console.print(Text(CONTROLS.sub("", text), style="dim"), end="")
        elif self._show_thinking:
            sys.stderr.write(text)
        elif self._rich:
            self._update(Text(self._out.say("thinking…", "思考中…") + f" {self._thought}", style="dim"))

    def _end_thinking(self) -> None:
        if not self._thinking_since:
            return
        self._end_live()
        seconds, self._thinking_since = time.monotonic() - self._thinking_since, 0.0
        if self._show_thinking:
            console(stderr=not self._rich).print("\n")
        elif self._rich:
            words = self._out.say(f"thought for {seconds:.1f} s", f"思考了 {seconds:.1f} 秒")
            self._console.print(f"[dim]{words}[/dim]")

    def _update(self, shown: Markdown | Text) -> None:
        if self._live is None:
            self._live = Live(console=self._console, refresh_per_second=REFRESH_PER_S, transient=True)
            self._live.start()
        self._live.update(_Tail(shown))

    def _end_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


@dataclass(frozen=True)
class _Tail:
    """The last lines of what is shown, as many as the screen has: what grows there cannot scroll."""

    shown: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.shown, options, pad=False)[2 - console.height :]:
            yield from line
            yield Segment.line()


def footer(out: Output, answer: Answer) -> str:
    """How the answer came, in a line."""
    say = out.say
    plural = "" if answer.new_tokens == 1 else "s"
    parts = [
        say(f"{answer.new_tokens} token{plural}", f"{answer.new_tokens} 个 token"),
        say(f"first after {answer.ttft_ms / 1e3:.2f} s", f"首个 {answer.ttft_ms / 1e3:.2f} 秒"),
    ]
    if answer.tokens_per_s is not None:
        parts.append(say(f"{answer.tokens_per_s:.1f} tokens/s", f"{answer.tokens_per_s:.1f} token/秒"))
    parts.append(say(f"{answer.prompt_tokens} read", f"读入 {answer.prompt_tokens}"))
    ends = {
        "length": say("cut at its longest: /set max_new_tokens", "已达最大长度：/set max_new_tokens"),
        "cancelled": say("stopped", "已停止"),
    }
    return " · ".join([*parts, *([ends[answer.finish]] if answer.finish in ends else [])])


def print_footer(out: Output, answer: Answer) -> None:
    """For who looks: nothing in a pipe."""
    screen: Console = console()
    if screen.is_terminal:
        screen.print(f"[dim]{footer(out, answer)}[/dim]")
