"""Messages as programs write them, in OpenAI's shape or npukit's own, brought into one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from npukit.errors import NpukitError
from npukit.tasks import Message

ROLES = ("system", "developer", "user", "assistant")
Part = dict[str, Any]


def messages_from(messages: Any, media: Mapping[str, Callable[[Any], Part]]) -> list[Message]:
    """``media`` makes a part of what stands under ``image_url``, ``image`` or ``video``; kinds that are not
    in it are refused. Raises NpukitError ``chat.bad-message``."""
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        raise _bad("messages", "must be a list of at least one message")
    return [_message(message, f"messages[{index}]", media) for index, message in enumerate(messages)]


def _message(message: Any, where: str, media: Mapping[str, Callable[[Any], Part]]) -> Message:
    if not isinstance(message, Mapping):
        raise _bad(where, "must be an object")
    role = message.get("role")
    if role not in ROLES:
        raise _bad(f"{where}.role", f"is {role!r}, none of {', '.join(ROLES)}")
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, Sequence) or isinstance(content, bytes) or not content:
        raise _bad(f"{where}.content", "must be text, or a list of at least one part")
    parts = [_part(part, f"{where}.content[{i}]", media) for i, part in enumerate(content)]
    return {"role": "system" if role == "developer" else role, "content": parts}


def _part(part: Any, where: str, media: Mapping[str, Callable[[Any], Part]]) -> Part:
    kind = str(part.get("type")) if isinstance(part, Mapping) else ""
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": clean(part["text"])}
    if kind not in media:
        raise _bad(where, f"is of type {kind!r}; known here are {', '.join(('text', *media))}")
    source = part.get(kind, part.get("path"))
    if kind == "image_url" and isinstance(source, Mapping):
        source = source.get("url")
    if source is None:
        raise _bad(where, f"has no {kind!r}")
    return media[kind](source)


def clean(text: str) -> str:
    """``text`` with what is no character (halves of surrogate pairs, bytes of another encoding) replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _bad(where: str, reason: str) -> NpukitError:
    return NpukitError("chat.bad-message", where=where, reason=reason)
