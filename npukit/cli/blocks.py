"""Markdown as it comes, cut where a part of it is done. Pure."""

from __future__ import annotations

FENCES = ("```", "~~~")


class Blocks:
    """Paragraphs end at an empty line, unless it stands in fenced code. Nothing is lost between pieces."""

    def __init__(self) -> None:
        self.open = ""  # what is not done yet

    def push(self, text: str) -> str:
        """The blocks that ``text`` completes."""
        self.open += text
        fence, done, place = "", 0, 0
        lines = self.open.splitlines(keepends=True)
        for line in lines:
            place += len(line)
            mark = line.strip()[:3]
            if mark in FENCES and (not fence or fence == mark):
                fence = "" if fence else mark
            elif not fence and not line.strip() and line.endswith("\n"):
                done = place
        ready, self.open = self.open[:done], self.open[done:]
        return ready

    def finish(self) -> str:
        """What was not done, and now is."""
        rest, self.open = self.open, ""
        return rest
