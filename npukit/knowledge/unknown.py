"""What to say when nothing is known: just that, which lines look like the failure, and what to collect."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from npukit.knowledge.log import clean
from npukit.knowledge.rows import FOLDER
from npukit.toml import load_toml

SUSPECTS = 3
SUSPECT_CHARACTERS = 240
BINARY_CHARACTERS = 4000  # judged by the start; a tenth of it undecodable is no log
# An exception's last line, CANN's and loggers' levels, and what a dying process or the kernel prints.
_SUSPECT = re.compile(
    r"^.{0,200}?(?:\b[A-Za-z_][\w.]{0,80}(?:Error|Exception|Interrupt)\b(?::|$)|\[ERROR\]|\b(?:ERROR|FATAL|CRITICAL)\b"
    r"|^(?:error|fatal): |Segmentation fault|core dumped|terminate called|Aborted|\bKilled\b).{0,2000}$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Suspect:
    """A line that looks like the failure; ``line`` is 1-based."""

    line: int
    text: str


@dataclass(frozen=True)
class Advice:
    """Words for a log in which nothing is known."""

    what: str
    collect: tuple[str, ...]
    suspects: tuple[Suspect, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "collect": list(self.collect),
            "suspects": [asdict(line) for line in self.suspects],
        }


def advise(text: str, lang: str = "en") -> Advice:
    """What to do about a log that ``explain`` knows nothing of."""
    words = _words()
    suspects = tuple(_suspects(clean(text)))
    return Advice(
        what=words["unknown" if suspects else _calm(text)][lang],
        collect=tuple(words["collect"][lang]) if suspects else (),
        suspects=suspects,
    )


def _calm(text: str) -> str:
    """Why no line looks like a failure: there is none, or what was read is no text."""
    if not text.strip():
        return "empty"
    start = text[:BINARY_CHARACTERS]
    return "binary" if start.count("\ufffd") * 10 > len(start) else "calm"


def _suspects(text: str) -> list[Suspect]:
    """The first such line and the last ones: the failure is usually one of them."""
    matches = list(_SUSPECT.finditer(text))
    chosen = matches if len(matches) <= SUSPECTS else [matches[0], *matches[1 - SUSPECTS :]]
    return [
        Suspect(text.count("\n", 0, match.start()) + 1, match[0].strip()[:SUSPECT_CHARACTERS])
        for match in chosen
    ]


@lru_cache(maxsize=1)
def _words() -> dict[str, Any]:
    return load_toml(FOLDER / "words.toml")
