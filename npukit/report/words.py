"""The report's words in one language."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from npukit.toml import load_toml

LANGUAGES = ("en", "zh")


@cache
def _table() -> dict[str, Any]:
    return load_toml(Path(__file__).parent / "words.toml")


class Words:
    """``words("title", title=...)`` gives a text with its placeholders filled. KeyError for another name."""

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def __call__(self, name: str, /, **fields: Any) -> str:
        text: str = _table()[name][self.lang]
        return text.format_map(fields) if fields else text

    def label(self, label: str) -> str:
        """The label of a stage's figure; one without a translation stays as it is."""
        return str(_table()["labels"].get(label, label)) if self.lang == "zh" else label

    def check(self, name: str) -> str:
        """A check's id; in Chinese with what it looks at before it, where that has a name."""
        title = _table()["check-titles"].get(name) if self.lang == "zh" else None
        return f"{title} `{name}`" if title else name
