"""Who is asked when a worker broke, and what a cancel that comes too early does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from npukit.answer import Answer, Piece
from npukit.answering import Answering, given
from npukit.context import Context, Options
from npukit.decoding import GREEDY
from npukit.devices.name import parse_device
from npukit.errors import NpukitError
from npukit.recipe import find_recipe
from npukit.workspace import Workspace

MEASURED = {
    "text": "<think>\nhm\n</think>\n\nParis",
    "finish": "stop",
    "prompt_tokens": 7,
    "token_ids": [1, 2, 3],
    "token_ms": [10.0, 20.0, 40.0],
    "total_ms": 41.0,
    "prepare_ms": 5.0,
}


class FakeWorker:
    """Answers with a script of messages; one that is an error is raised."""

    def __init__(self, script: list[dict[str, Any] | NpukitError]) -> None:
        self._script = script
        self.requests: list[dict[str, Any]] = []
        self.cancels = 0

    def stream(self, do: str, **request: Any) -> Iterator[dict[str, Any]]:
        self.requests.append({"do": do, **request})
        for message in self._script:
            if isinstance(message, NpukitError):
                raise message
            yield message

    def cancel(self) -> None:
        self.cancels += 1


class FakePipeline:
    def __init__(self, tmp_path: Path, device: str, worker: FakeWorker) -> None:
        options = Options(device=parse_device(device))
        self._context = Context(find_recipe("tiny-minicpm-v"), Workspace(tmp_path), options, tmp_path)
        self.worker, self.renewed = worker, 0
        self.workers = self

    def ready(self) -> Context:
        return self._context

    def device(self) -> FakeWorker:
        return self.worker

    def renew(self) -> None:
        self.renewed += 1


def token(text: str) -> dict[str, Any]:
    return {"type": "token", "text": text}


RESULT = {"type": "result", "value": MEASURED}


def asked(tmp_path: Path, script: list[Any], device: str = "cpu") -> tuple[Answering, FakePipeline]:
    pipeline = FakePipeline(tmp_path, device, FakeWorker(script))
    return Answering(pipeline, downsample="4x", max_slices=2), pipeline  # type: ignore[arg-type]


def test_reasoning_and_answer_are_told_apart_as_they_come(tmp_path: Path) -> None:
    script = [token("<thi"), token("nk>\nhm\n</think>"), token("\n\nPar"), token("is"), RESULT]
    answering, pipeline = asked(tmp_path, script)
    *pieces, answer = answering.ask([], GREEDY)
    assert all(isinstance(piece, Piece) for piece in pieces)
    assert "".join(piece.text for piece in pieces) == "Paris"  # type: ignore[union-attr]
    assert isinstance(answer, Answer)
    assert (answer.text, answer.reasoning) == ("Paris", "hm")
    assert (answer.ttft_ms, answer.total_ms) == (15.0, 46.0)
    assert answer.tokens_per_s == pytest.approx(2 / 0.030)
    request = pipeline.worker.requests[0]
    assert request["options"] == {"downsample_mode": "4x"}
    assert request["prepare"] == {"max_slice_nums": 2}


@pytest.mark.parametrize(
    ("device", "code", "renewed"),
    [
        ("npu:0", "worker.exception", 1),  # a failed kernel leaves the device's context unusable
        ("npu:0", "device.failed", 1),
        ("cuda:0", "worker.exception", 1),
        ("cpu", "worker.exception", 0),
        ("npu:0", "device.out-of-memory", 0),
        ("npu:0", "generate.context-overflow", 0),
    ],
)
def test_a_worker_whose_device_failed_is_replaced(
    tmp_path: Path, device: str, code: str, renewed: int
) -> None:
    answering, pipeline = asked(tmp_path, [token("Pa"), NpukitError(code)], device)
    with pytest.raises(NpukitError) as caught:
        list(answering.ask([], GREEDY))
    assert (caught.value.code, pipeline.renewed) == (code, renewed)


def test_a_cancel_before_the_start_is_not_lost(tmp_path: Path) -> None:
    answering, pipeline = asked(tmp_path, [token("a"), token("b"), RESULT])
    cancelled = Event()
    answering.cancel(cancelled)
    assert not answering.abort()  # there is no worker to end yet
    list(answering.ask([], GREEDY, cancelled))
    assert pipeline.worker.cancels == 1


def test_a_cancel_in_the_middle_reaches_the_worker(tmp_path: Path) -> None:
    answering, pipeline = asked(tmp_path, [token("a"), token("b"), RESULT])
    cancelled = Event()
    pieces = answering.ask([], GREEDY, cancelled)
    next(pieces)
    answering.cancel(cancelled)
    assert pipeline.worker.cancels == 1
    list(pieces)


def test_what_is_given_to_whom() -> None:
    assert given({"downsample_mode": "16x"}) == ({"downsample_mode": "16x"}, {})
    assert given({"downsample_mode": "16x"}, "4x", 9) == ({"downsample_mode": "4x"}, {"max_slice_nums": 9})
