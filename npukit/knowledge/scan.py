"""Where in a log each row stands. The cost is that of a few hundred ``bytes.find`` over it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from npukit.knowledge.codes import find_codes
from npukit.knowledge.pattern import Hit, Pattern
from npukit.knowledge.rows import Row, rows

# Looking around a line costs more than the line: a row gets this many looks.
LOOKS = 200
DIGITS = b"0123456789"
# CANN's own log at its lower levels names timeouts, errors and codes without having any.
_CALM = re.compile(rb"\[(?:INFO|EVENT|DEBUG)\] [A-Z_]{2,20}\(")
BLOB_BYTES = 1000  # a word as long as this is data, not language
# A row or a code is counted up to this many lines.
COUNTED = 10_000


class Log:
    """A log's bytes, and the same in lower case (byte for byte: only ASCII letters change)."""

    def __init__(self, text: str) -> None:
        self.data = text.encode("utf-8", errors="replace")
        self.lowered = self.data.lower()

    def line_start(self, at: int) -> int:
        return self.data.rfind(b"\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        end = self.data.find(b"\n", at)
        return len(self.data) if end < 0 else end

    def line_number(self, at: int) -> int:
        return self.data.count(b"\n", 0, at) + 1

    def needles(self, candidates: Iterable[bytes]) -> list[bytes]:
        """Those of ``candidates`` that may stand in the log. A log repeats itself but for its numbers:
        without digits its different words and lines are few, and quickly searched for hundreds of needles."""
        lines = set(self.lowered.translate(None, DIGITS).split(b"\n"))
        text = b"\n".join(lines)
        words = {word for word in text.split() if len(word) < BLOB_BYTES or not word.isascii()}
        joined = b"\n".join(words)
        within = lru_cache(maxsize=None)(joined.__contains__)

        def possible(needle: bytes) -> bool:
            needle = needle.translate(None, DIGITS)
            first, *inner = needle.split() or [b""]
            last = inner.pop() if inner else b""
            return words.issuperset(inner) and within(first) and within(last) and needle in text

        return [needle for needle in candidates if possible(needle)]

    def lines_with(self, needle: bytes) -> Iterator[tuple[int, int]]:
        at = self.lowered.find(needle)
        while at >= 0:
            start, end = self.line_start(at), self.line_end(at)
            yield start, end
            at = self.lowered.find(needle, end)

    def window(self, start: int, end: int, lines: int) -> tuple[int, int]:
        """Grown by ``lines`` lines on both sides; lines of more than 400 bytes count for more than one."""
        first, last = max(0, start - 400 * lines), min(len(self.data), end + 400 * lines)
        for _ in range(lines):
            start = self.data.rfind(b"\n", first, max(first, start - 1)) + 1 or first
            end = self.data.find(b"\n", end + 1, last)
            if end < 0:
                end = last
        return start, end


@dataclass(frozen=True)
class Place:
    """A line that says it: where the line starts, and where on it."""

    line: int
    hit: Hit


@dataclass
class Scan:
    """``rows``: by row, its lines in order. ``codes``: by code, its lines in order."""

    rows: dict[str, list[Place]]
    codes: dict[str, list[Place]]


def scan(log: Log) -> Scan:
    """Every row and every code in the log, nothing weighed yet."""
    found: dict[str, dict[int, Place]] = defaultdict(dict)
    looks: Counter[str] = Counter()
    sharers = _by_needle()
    for needle in log.needles(sharers):
        for start, end in log.lines_with(needle):
            for row, pattern in sharers[needle]:
                if len(found[row.id]) >= COUNTED:
                    continue
                hit = pattern.search(log.lowered, start, end)
                if hit and _allowed(row, log, start, end, looks):
                    found[row.id].setdefault(start, Place(start, hit))
    codes = _codes(log)
    for row in rows():
        for code in row.codes & codes.keys():
            for place in codes[code]:
                if _allowed(row, log, place.line, log.line_end(place.hit.end), looks):
                    found[row.id].setdefault(place.line, place)
    ordered = {
        identity: sorted(places.values(), key=lambda place: place.line) for identity, places in found.items()
    }
    return Scan({identity: places for identity, places in ordered.items() if places}, codes)


@lru_cache(maxsize=1)
def _by_needle() -> dict[bytes, list[tuple[Row, Pattern]]]:
    sharers: dict[bytes, list[tuple[Row, Pattern]]] = defaultdict(list)
    for row in rows():
        for pattern in row.match:
            sharers[pattern.needle].append((row, pattern))
    return dict(sharers)


def _codes(log: Log) -> dict[str, list[Place]]:
    places: dict[str, list[Place]] = defaultdict(list)
    for code in find_codes(log.data, log.lowered):
        start = log.line_start(code.start)
        if len(places[code.name]) < COUNTED and not _CALM.match(log.data, start):
            places[code.name].append(Place(start, Hit(code.start, code.end)))
    return dict(places)


def _allowed(row: Row, log: Log, start: int, end: int, looks: Counter[str]) -> bool:
    """Whether the row's ``unless`` and ``near`` let this line count."""
    if _CALM.match(log.data, start) or any(pattern.search(log.lowered, start, end) for pattern in row.unless):
        return False
    if not row.near:
        return True
    looks[row.id] += 1
    if looks[row.id] > LOOKS:
        return False
    start, end = log.window(start, end, row.within)
    return any(pattern.search(log.lowered, start, end) for pattern in row.near)
