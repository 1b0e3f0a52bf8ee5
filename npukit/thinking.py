"""Tell a model's reasoning from its answer, as the text comes. Pure."""

from __future__ import annotations

from npukit.textstream import overlap

OPEN, CLOSE = "<think>", "</think>"


class Thinking:
    """Reasoning stands at the beginning, between ``<think>`` and ``</think>``; what follows is the answer."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"
        self.reasoning = ""
        self.answer = ""

    def push(self, text: str) -> tuple[str, str]:
        """The reasoning and the answer that ``text`` adds."""
        self._held += text
        reasoning = answer = ""
        if self._state == "start":
            lead = self._held.lstrip()
            if lead.startswith(OPEN):
                self._state, self._held = "thinking", lead[len(OPEN) :]
            elif not OPEN.startswith(lead):
                self._state = "answer"
        if self._state == "thinking":
            reasoning, found, rest = self._held.partition(CLOSE)
            if found:
                self._state, self._held = "gap", rest
            else:
                keep = overlap(reasoning, CLOSE)
                self._held = reasoning[len(reasoning) - keep :]
                reasoning = reasoning[: len(reasoning) - keep]
        if self._state == "gap":  # the blank lines between both
            self._held = self._held.lstrip()
            self._state = "answer" if self._held else "gap"
        if self._state == "answer":
            answer, self._held = self._held, ""
        return self._add(reasoning, answer)

    def finish(self) -> tuple[str, str]:
        """What was held back until it was clear what it is."""
        held, self._held = self._held, ""
        return self._add(held, "") if self._state == "thinking" else self._add("", held)

    def _add(self, reasoning: str, answer: str) -> tuple[str, str]:
        self.reasoning += reasoning
        self.answer += answer
        return reasoning, answer


def split(text: str) -> tuple[str, str]:
    """The reasoning and the answer of a whole text."""
    thinking = Thinking()
    thinking.push(text)
    thinking.finish()
    return thinking.reasoning.strip(), thinking.answer
