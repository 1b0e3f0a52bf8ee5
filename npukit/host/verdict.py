"""One line of `npukit env`: what was seen, and where it is not well, the cause and what to type."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from npukit.toml import load_toml

TEXTS = Path(__file__).with_name("verdicts.toml")
Level = Literal["ok", "info", "warn", "fail"]


@dataclass(frozen=True)
class Fix:
    """A safe step `--fix` takes: a directory to create, or a line for a file to source."""

    kind: Literal["mkdir", "line"]
    text: str


@dataclass(frozen=True)
class Verdict:
    """``id`` is area.name. ``cause`` and ``remedy`` (what to type) are empty when all is well."""

    id: str
    level: Level
    seen: str
    cause: str = ""
    remedy: str = ""
    fixes: tuple[Fix, ...] = ()

    @property
    def area(self) -> str:
        return self.id.partition(".")[0]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "fixes": [asdict(fix) for fix in self.fixes]}


@dataclass(frozen=True)
class Voice:
    """Makes verdicts in one language. The words of warn and fail stand in verdicts.toml, by id."""

    lang: str = "en"

    def ok(self, id: str, seen: str) -> Verdict:
        return Verdict(id, "ok", seen)

    def info(self, id: str, **fields: Any) -> Verdict:
        return self._worded(id, "info", (), fields)

    def warn(self, id: str, *fixes: Fix, **fields: Any) -> Verdict:
        return self._worded(id, "warn", fixes, fields)

    def fail(self, id: str, *fixes: Fix, **fields: Any) -> Verdict:
        return self._worded(id, "fail", fixes, fields)

    def _worded(self, id: str, level: Level, fixes: tuple[Fix, ...], fields: dict[str, Any]) -> Verdict:
        area, _, name = id.partition(".")
        row = texts()[area][name]
        words = {part: row.get(part, {}) for part in ("what", "cause", "remedy")}
        what, cause, remedy = (
            (text.get(self.lang) or text.get("en", "")).format_map(fields) for text in words.values()
        )
        return Verdict(id, level, what, cause, remedy, fixes)


@cache
def texts() -> dict[str, Any]:
    """verdicts.toml: area, name, then what, cause and remedy, each in en and zh."""
    return load_toml(TEXTS)
