from __future__ import annotations

import json

from npukit.answer import Answer, Piece
from npukit.errors import NpukitError
from npukit.serving.replies import Replies, event, failure, models

ANSWER = Answer("Paris", "let me see", "length", 7, 3, 1.0, 2.0, None, [1, 2, 3])
REPLIES = Replies("chatcmpl-1", "m", 0)


def test_a_whole_answer() -> None:
    document = REPLIES.whole(ANSWER)
    assert document["object"] == "chat.completion"
    assert document["choices"][0]["message"]["content"] == "Paris"
    assert document["choices"][0]["message"]["reasoning_content"] == "let me see"
    assert document["choices"][0]["finish_reason"] == "length"
    assert document["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def test_a_stream_of_chunks() -> None:
    assert REPLIES.start()["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert REPLIES.piece(Piece("", "Pa"))["choices"][0]["delta"] == {"content": "Pa"}
    assert REPLIES.piece(Piece("hm", ""))["choices"][0]["delta"] == {"reasoning_content": "hm"}
    assert REPLIES.end(ANSWER)["choices"][0] == {
        "index": 0,
        "delta": {},
        "finish_reason": "length",
        "logprobs": None,
    }
    assert (REPLIES.counts(ANSWER)["choices"], REPLIES.counts(ANSWER)["usage"]["total_tokens"]) == ([], 10)


def test_an_event_is_one_line_whatever_the_text() -> None:
    line = event({"text": "a\n\nb 你"})
    assert line.startswith(b"data: ") and line.endswith(b"\n\n")
    assert line.count(b"\n") == 2
    assert json.loads(line.removeprefix(b"data: ")) == {"text": "a\n\nb 你"}


def test_errors_keep_their_code_and_get_a_status() -> None:
    def told(code: str, **fields: object) -> tuple[int, str, str]:
        status, document = failure(NpukitError(code, **fields))
        return status, document["error"]["code"], document["error"]["type"]

    assert told("serve.busy", waiting=3) == (429, "serve.busy", "rate_limit_error")
    assert told("serve.no-key") == (401, "serve.no-key", "authentication_error")
    assert told("picture.missing", path="x") == (400, "picture.missing", "invalid_request_error")
    assert told("worker.killed", log="x") == (503, "worker.killed", "server_error")
    assert told("bug.unknown", reason="x") == (500, "bug.unknown", "server_error")


def test_models() -> None:
    assert models("m", 3)["data"] == [{"id": "m", "object": "model", "created": 3, "owned_by": "npukit"}]
