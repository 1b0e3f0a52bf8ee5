"""What a client is told, in the documents of OpenAI's chat completions. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from npukit.answer import Answer, Piece
from npukit.errors import ExitStatus, NpukitError

FINISH = {"stop": "stop", "length": "length", "cancelled": "stop"}
STATUS = {
    ExitStatus.USAGE: 400,
    ExitStatus.DATA: 400,
    ExitStatus.ENVIRONMENT: 503,
    ExitStatus.DEVICE: 503,
}
STATUS_OF = {  # where the exit status does not say enough
    "serve.busy": 429,
    "serve.no-key": 401,
    "serve.no-model": 404,
    "serve.too-large": 413,
    "serve.not-json": 415,
}
CODE_OF = {"generate.context-overflow": "context_length_exceeded", "serve.no-model": "model_not_found"}
TYPE_OF = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error"}


@dataclass(frozen=True)
class Replies:
    """The documents of one completion. ``created`` are seconds since 1970."""

    id: str
    model: str
    created: int

    def whole(self, answer: Answer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.text, **_reasoning(answer.reasoning)}
        choice = {"index": 0, "message": message, "finish_reason": FINISH[answer.finish], "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage(answer)}

    def start(self) -> dict[str, Any]:
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, piece: Piece) -> dict[str, Any]:
        return self._chunk({**({"content": piece.text} if piece.text else {}), **_reasoning(piece.reasoning)})

    def end(self, answer: Answer) -> dict[str, Any]:
        return self._chunk({}, FINISH[answer.finish])

    def counts(self, answer: Answer) -> dict[str, Any]:
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": usage(answer)}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}


def _reasoning(text: str) -> dict[str, str]:
    return {"reasoning_content": text} if text else {}


def usage(answer: Answer) -> dict[str, int]:
    total = answer.prompt_tokens + answer.new_tokens
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.new_tokens,
        "total_tokens": total,
    }


def models(name: str, created: int) -> dict[str, Any]:
    row = {"id": name, "object": "model", "created": created, "owned_by": "npukit"}
    return {"object": "list", "data": [row]}


def failure(error: NpukitError) -> tuple[int, dict[str, Any]]:
    """The HTTP status and the document of an error."""
    status = STATUS_OF.get(error.code, STATUS.get(error.status, 500))
    words = error.message()
    parts = (words.what, words.cause, words.remedy) if status < 500 else (words.what, words.cause)
    document = {
        "message": "; ".join(filter(None, parts)),
        "type": TYPE_OF.get(status, "invalid_request_error"),
        "param": error.fields.get("name") or error.fields.get("where"),
        "code": CODE_OF.get(error.code, error.code),
    }
    return status, {"error": document}


def event(document: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


LAST_EVENT = b"data: [DONE]\n\n"
