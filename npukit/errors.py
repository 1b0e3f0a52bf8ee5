"""Every error a user can meet: a stable code, what happened, why, what to type, and the exit status.

The texts stand in ``npukit/messages/<area>.toml``, English and Chinese side by side; code raises by name:

    raise NpukitError("recipe.unknown", name=name, nearest="minimind2")
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

from npukit.toml import load_toml

MESSAGES = Path(__file__).parent / "messages"


class ExitStatus(IntEnum):
    """What the shell sees."""

    PASSED = 0
    FAILED = 1  # measured, and judged failed
    USAGE = 2  # wrong usage or a wrong recipe
    ENVIRONMENT = 3  # this machine is not fit
    DATA = 4  # files or downloads
    DEVICE = 5  # device lost or out of memory
    BUG = 70  # npukit's own fault
    INTERRUPTED = 130


@dataclass(frozen=True)
class Message:
    """The words of one error code in one language."""

    status: ExitStatus
    what: str
    cause: str
    remedy: str


class NpukitError(Exception):
    """An error with a code of ``area.name``; the fields fill the placeholders of its texts."""

    def __init__(self, code: str, **fields: Any) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields
        self.evidence = ""  # a traceback or a log's end, for the knowledge base

    def message(self, lang: str = "en") -> Message:
        row = catalogue(self.code.partition(".")[0])[self.code.partition(".")[2]]

        def text(part: str) -> str:
            words = row.get(part, {})
            return words.get(lang, words.get("en", "")).format_map(self.fields)

        return Message(ExitStatus(row["status"]), text("what"), text("cause"), text("remedy"))

    @property
    def status(self) -> ExitStatus:
        return self.message().status

    def __str__(self) -> str:
        return self.message().what

    def to_json(self, lang: str = "en") -> dict[str, Any]:
        """The error as the JSON document's ``error`` member."""
        message = self.message(lang)
        return {
            "code": self.code,
            "what": message.what,
            "cause": message.cause,
            "remedy": message.remedy,
            "exit_status": int(message.status),
            "fields": {name: _plain(value) for name, value in self.fields.items()},
        }


@cache
def catalogue(area: str) -> dict[str, Any]:
    """The rows of one area, by name. Every row holds status, what, cause and remedy, in en and zh."""
    return load_toml(MESSAGES / f"{area}.toml")


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None), list, dict)) else str(value)
