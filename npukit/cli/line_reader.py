"""Questions typed at a terminal: line editing, history, completion, pasted lines kept together."""

from __future__ import annotations

import contextlib
import json
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npukit.errors import NpukitError
from npukit.workspace import read_json, write_atomic

KEPT_LINES = 1000


class LineReader:
    """A context manager: leaving it keeps the history. Without readline it still reads lines."""

    def __init__(self, history: Path, words: Sequence[str]) -> None:
        self._history, self._words = history, words
        self._readline: Any = None
        if sys.stdin.isatty():
            with contextlib.suppress(ImportError):
                import readline

                self._readline = readline

    def __enter__(self) -> LineReader:
        if self._readline:
            self._readline.clear_history()
            lines = read_json(self._history)
            for line in lines if isinstance(lines, list) else []:
                self._readline.add_history(str(line))
            self._readline.set_completer(self._complete)
            self._readline.set_completer_delims(" \t\n")
            self._readline.parse_and_bind("set enable-bracketed-paste on")
            self._readline.parse_and_bind("tab: complete")
        return self

    def __exit__(self, *error: object) -> None:
        if not self._readline:
            return
        self._readline.set_completer(None)
        count = self._readline.get_current_history_length()
        lines = [self._readline.get_history_item(number + 1) for number in range(count)]
        with contextlib.suppress(NpukitError):  # a disk that is full is no reason to fail at leaving
            write_atomic(self._history, json.dumps(lines[-KEPT_LINES:], ensure_ascii=False).encode())

    def read(self, prompt: str) -> str:
        """What was typed or pasted up to Enter; a backslash at the end goes on. EOFError at Ctrl-D."""
        line = input(prompt)
        while line.endswith("\\") or self._more_is_there():
            if line.endswith("\\"):
                line = line[:-1]
            line += "\n" + input("")
        return line

    def _more_is_there(self) -> bool:
        """Whether a terminal that does not bracket what is pasted has sent its next line already."""
        return sys.stdin.isatty() and bool(select.select([sys.stdin], [], [], 0)[0])

    def _complete(self, text: str, state: int) -> str | None:
        found = [word for word in self._words if word.startswith(text)] if text.startswith("/") else []
        if not found:
            found = _files(text)
        return found[state] if state < len(found) else None


def _files(text: str) -> list[str]:
    path = Path(text).expanduser()
    folder, start = (path, "") if text.endswith("/") else (path.parent, path.name)
    with contextlib.suppress(OSError):
        return sorted(
            f"{each}/" if each.is_dir() else str(each)
            for each in folder.iterdir()
            if each.name.startswith(start)
        )
    return []
