"""Text out of tokens as they come: whole characters only, up to a stop text. Pure.

Only the last few tokens are decoded again for each new one, so that the cost does not grow with the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

UNFINISHED = "\ufffd"  # what a decoder shows for half a character
PATIENCE_TOKENS = 16  # an unfinished character that lasts longer is part of the text


class TextStream:
    """``decode`` gives the text of token ids; ``stops`` are texts that end the answer."""

    def __init__(self, decode: Callable[[list[int]], str], stops: Sequence[str] = ()) -> None:
        self._decode, self._stops = decode, tuple(filter(None, stops))
        self._tokens: list[int] = []
        self._start = self._read = 0  # the window decoded anew, and how much of it was given out
        self._held = ""
        self.stopped = False

    def push(self, tokens: Iterable[int]) -> str:
        """The text that these tokens make certain; empty where more is needed to know."""
        self._tokens.extend(tokens)
        before = self._decode(self._tokens[self._start : self._read])
        now = self._decode(self._tokens[self._start :])
        waited = len(self._tokens) - self._read
        if len(now) <= len(before) or (now.endswith(UNFINISHED) and waited < PATIENCE_TOKENS):
            return ""
        self._start, self._read = self._read, len(self._tokens)
        return self._until_stop(now[len(before) :])

    def finish(self) -> str:
        """What was held back."""
        before = self._decode(self._tokens[self._start : self._read])
        rest = self._until_stop(self._decode(self._tokens[self._start :])[len(before) :])
        rest += "" if self.stopped else self._held
        self._held = ""
        return rest

    def _until_stop(self, fresh: str) -> str:
        if self.stopped:
            return ""
        text = self._held + fresh
        shown = until_stop(text, self._stops)
        self.stopped = len(shown) < len(text)
        if self.stopped:
            self._held = ""
            return shown
        keep = max((overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]


def until_stop(text: str, stops: Iterable[str]) -> str:
    """``text`` up to the first of ``stops`` in it."""
    places = [place for stop in stops if stop and (place := text.find(stop)) >= 0]
    return text[: min(places)] if places else text


def overlap(text: str, stop: str) -> int:
    """How many characters at the end of ``text`` could be the beginning of ``stop``."""
    return next((n for n in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:n])), 0)
