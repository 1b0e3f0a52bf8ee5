"""What a client asks for: a chat completion's body, read strictly. Pure, but for pictures put in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npukit import attachments
from npukit.content import messages_from
from npukit.decoding import Decoding
from npukit.errors import NpukitError
from npukit.tasks import Message

# OpenAI's and vLLM's names, ours, and what JSON type they are
NUMBERS = {
    "temperature": ("temperature", (int, float)),
    "top_p": ("top_p", (int, float)),
    "top_k": ("top_k", (int,)),
    "repetition_penalty": ("repetition_penalty", (int, float)),
    "seed": ("seed", (int,)),
    "min_tokens": ("min_new_tokens", (int,)),
    "max_tokens": ("max_new_tokens", (int,)),
    "max_completion_tokens": ("max_new_tokens", (int,)),
}
# what would change the answer and is not done; None and these values ask for nothing
NOT_DONE: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "tools": ([],),
    "functions": ([],),
    "logprobs": (False,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "response_format": ({"type": "text"},),
    "audio": (),
}
MAX_PICTURES = 32


@dataclass(frozen=True)
class Limits:
    """What one request may cost. ``hosts`` are those that pictures may be fetched from."""

    max_body_bytes: int = 20_000_000
    max_new_tokens: int = 1024
    hosts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Asked:
    messages: list[Message]
    decoding: Decoding
    stream: bool
    usage: bool  # whether a stream ends with the counts


def read(body: Any, model: str, limits: Limits, folder: Path) -> Asked:
    """Read a request for ``model``; its pictures are written to ``folder``, each proven readable.

    Raises NpukitError ``serve.*``, ``chat.*``, ``generate.*``, ``picture.*``.
    """
    if not isinstance(body, Mapping):
        raise NpukitError("serve.bad-request", name="the body", reason="must be a JSON object")
    if body.get("model") != model:
        raise NpukitError("serve.no-model", name=str(body.get("model")), model=model)
    for name, nothing in NOT_DONE.items():
        if body.get(name) is not None and body[name] not in nothing:
            raise NpukitError("serve.bad-request", name=name, reason="is not supported")
    stream, options = body.get("stream") or False, body.get("stream_options") or {}
    if not isinstance(stream, bool) or not isinstance(options, Mapping):
        raise NpukitError("serve.bad-request", name="stream", reason="must be true or false")
    decoding = _decoding(body, limits)
    messages = messages_from(body.get("messages"), {"image_url": _pictures(limits, folder)})
    return Asked(messages, decoding, stream, bool(options.get("include_usage")))


def _decoding(body: Mapping[str, Any], limits: Limits) -> Decoding:
    fields: dict[str, Any] = {"max_new_tokens": limits.max_new_tokens}
    for name, (own, kinds) in NUMBERS.items():
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise NpukitError("serve.bad-request", name=name, reason="must be a number")
        fields[own] = value
    stop = body.get("stop") or []
    stop = [stop] if isinstance(stop, str) else stop
    if not isinstance(stop, list) or not all(isinstance(text, str) and text for text in stop):
        raise NpukitError("serve.bad-request", name="stop", reason="must be text or a list of texts")
    decoding = Decoding(**fields, stop=tuple(stop))
    if decoding.max_new_tokens > limits.max_new_tokens:
        reason = f"must be at most {limits.max_new_tokens}, as this server was started"
        raise NpukitError("serve.bad-request", name="max_tokens", reason=reason)
    return decoding


def _pictures(limits: Limits, folder: Path) -> Callable[[Any], dict[str, Any]]:
    count = 0

    def picture(url: Any) -> dict[str, Any]:
        from npukit.tasks.pictures import open_picture

        nonlocal count
        count += 1
        if count > MAX_PICTURES:
            reason = f"hold more than {MAX_PICTURES} pictures"
            raise NpukitError("serve.bad-request", name="messages", reason=reason)
        if not isinstance(url, str):
            raise NpukitError("serve.bad-request", name="image_url", reason="must be a text")
        if url.startswith("data:"):
            data = attachments.data_uri(url)
        else:
            data = attachments.download(url, limits.hosts.__contains__)
        open_picture(data)
        return {"type": "image", "path": str(attachments.keep(data, folder))}

    return picture
