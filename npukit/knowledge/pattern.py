"""The patterns of rows: plain text with two wildcards, searched in linear time.

    lib{name}.so*: cannot open shared object file

``*`` is any text of the same line, at most 300 bytes; ``{name}`` is one word, at most 120 bytes, that the
row's texts may quote as ``{name}``. Upper and lower case are the same. There is no other syntax, hence no
pattern that takes exponential time: parts between ``*`` are found one after the other, and each holds at most
one ``{name}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

GAP_BYTES = 300
_TOKEN = re.compile(r"(\{[a-z_]+\})")
_WORD = rb"[^\s'\"`,;()\[\]<>|]{1,120}"


@dataclass(frozen=True)
class Hit:
    """Where something was found, in bytes, and where the words stand that its wildcards took."""

    start: int
    end: int
    words: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern. ``needle`` is its longest literal piece: no needle on a line, no hit."""

    text: str
    needle: bytes
    parts: tuple[re.Pattern[bytes], ...]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Raises ValueError for a pattern without enough literal text, or with two words in one part."""
        parts, pieces = [], []
        for part in text.lower().split("*"):
            tokens = [token for token in _TOKEN.split(part) if token]
            literals = [token for token in tokens if not _TOKEN.fullmatch(token)]
            if not literals or len(tokens) - len(literals) > 1:
                raise ValueError(
                    f"pattern {text!r}: each part between * needs literal text and at most one {{word}}"
                )
            pieces += literals
            parts.append(re.compile(b"".join(_source(token) for token in tokens)))
        needle = max(pieces, key=len).encode()
        if len(needle) < 4:
            raise ValueError(f"pattern {text!r}: its longest literal piece is too short to search for")
        return cls(text, needle, tuple(parts))

    def search(self, lowered: bytes, start: int, end: int) -> Hit | None:
        """The first hit in ``lowered[start:end]``, one line of a log in lower case."""
        return next(self._hits(lowered, start, end), None)

    def _hits(self, lowered: bytes, start: int, end: int) -> Iterator[Hit]:
        for first in self.parts[0].finditer(lowered, start, end):
            position, words = first.end(), _spans(first)
            for part in self.parts[1:]:
                following = part.search(lowered, position, min(end, position + GAP_BYTES))
                if following is None:
                    break
                position = following.end()
                words |= _spans(following)
            else:
                yield Hit(first.start(), position, words)


def _source(token: str) -> bytes:
    if _TOKEN.fullmatch(token):
        return b"(?P<" + token[1:-1].encode() + b">" + _WORD + b")"
    return re.escape(token.encode())


def _spans(match: re.Match[bytes]) -> dict[str, tuple[int, int]]:
    return {name: match.span(name) for name in match.groupdict()}
