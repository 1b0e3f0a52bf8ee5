"""What was said so far: questions with their pictures and videos, and answers. Pure, but for its file."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npukit.content import clean
from npukit.errors import NpukitError
from npukit.tasks import Message
from npukit.workspace import write_json

FORMAT = "npukit conversation 1"
PARTS = {"text": "text", "image": "path", "video": "path"}  # kind: the key that must be there


@dataclass
class Conversation:
    """``waiting`` are the pictures and videos that go with the next question."""

    system: str = ""
    messages: list[Message] = field(default_factory=list)
    waiting: list[dict[str, Any]] = field(default_factory=list)

    def attach(self, parts: list[dict[str, Any]]) -> None:
        self.waiting.extend(parts)

    def asking(self, question: str) -> list[Message]:
        """All that the model is to read for its answer; nothing is changed until there is one."""
        user = {"role": "user", "content": [*self.waiting, {"type": "text", "text": clean(question)}]}
        told = {"role": "system", "content": [{"type": "text", "text": clean(self.system)}]}
        return [*([told] if self.system else []), *self.messages, user]

    def answered(self, question: str, answer: str) -> None:
        self.messages.append(self.asking(question)[-1])
        self.messages.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
        self.waiting = []

    def take_back(self) -> str:
        """Undo the last turn; its question, its pictures waiting again. Empty when there is none."""
        if len(self.messages) < 2:
            return ""
        question = self.messages[-2]["content"]
        del self.messages[-2:]
        self.waiting = [part for part in question if part["type"] != "text"] + self.waiting
        return "".join(part["text"] for part in question if part["type"] == "text")

    def clear(self) -> None:
        """Forget everything but what the model is told first."""
        self.messages, self.waiting = [], []

    @property
    def turns(self) -> int:
        return len(self.messages) // 2

    def save(self, path: Path, model: str) -> None:
        """Write it whole or not at all. Raises NpukitError ``workspace.*``."""
        document = {"format": FORMAT, "model": model, "system": self.system}
        write_json(path, {**document, "messages": self.messages, "waiting": self.waiting})

    @classmethod
    def load(cls, path: Path) -> Conversation:
        """Raises NpukitError ``chat.*`` when the file is absent or something else."""
        try:
            document = json.loads(path.read_bytes())
        except OSError as error:
            raise NpukitError("chat.no-file", path=str(path), reason=error.strerror or str(error)) from error
        except ValueError as error:
            raise NpukitError("chat.not-a-conversation", path=str(path), reason=str(error)) from error
        fault = _fault(document)
        if fault:
            raise NpukitError("chat.not-a-conversation", path=str(path), reason=fault)
        return cls(document["system"], document["messages"], document["waiting"])

    def copy(self) -> Conversation:
        return copy.deepcopy(self)


def _fault(document: Any) -> str:
    """What is wrong with a conversation's document; empty when nothing is."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return f"its format is not {FORMAT!r}"
    if not isinstance(document.get("system"), str):
        return "system is not a text"
    messages, waiting = document.get("messages"), document.get("waiting")
    if not isinstance(messages, list) or not isinstance(waiting, list):
        return "messages and waiting are not lists"
    for index, message in enumerate(messages):
        role = ("user", "assistant")[index % 2]
        if not isinstance(message, dict) or message.get("role") != role:
            return f"messages[{index}] is not of role {role!r}"
        if not isinstance(message.get("content"), list) or not all(map(_is_part, message["content"])):
            return f"messages[{index}] holds something that is neither text, image nor video"
    if len(messages) % 2:
        return "the last question has no answer"
    kept = all(_is_part(part) and part["type"] != "text" for part in waiting)
    return "" if kept else "waiting holds something that is no image or video"


def _is_part(part: Any) -> bool:
    key = PARTS.get(part.get("type", "")) if isinstance(part, dict) else None
    return key is not None and isinstance(part.get(key), str)
