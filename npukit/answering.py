"""Ask a pipeline's worker for answers, one at a time; one that broke is replaced before the next question."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

from npukit.answer import Answer, Piece
from npukit.decoding import Decoding
from npukit.errors import NpukitError
from npukit.pipeline import Pipeline
from npukit.tasks import Message
from npukit.thinking import Thinking
from npukit.worker.client import Worker


class Answering:
    """``downsample`` (4x, 16x) goes to the processor and to generate, ``max_slices`` to the processor."""

    def __init__(self, pipeline: Pipeline, *, downsample: str = "", max_slices: int | None = None) -> None:
        self._pipeline = pipeline
        self.context = pipeline.ready()
        self._inputs, self._prepare = given(self.context.recipe.generation.inputs, downsample, max_slices)
        self._worker: Worker | None = None  # while it answers

    def ask(
        self, messages: list[Message], decoding: Decoding, cancelled: Event | None = None
    ) -> Iterator[Piece | Answer]:
        """The answer in pieces as they come, and at the end the whole. Raises NpukitError."""
        thinking, told = Thinking(), False
        try:
            self._worker = self._pipeline.workers.device()
            for message in self._worker.stream(
                "generate",
                load=self.context.load(),
                messages=messages,
                decoding=decoding.to_json(),
                options=self._inputs,
                prepare=self._prepare,
            ):
                if cancelled and cancelled.is_set() and not told:
                    self._worker.cancel()  # again: the first time there may have been no request yet
                    told = True
                if message["type"] == "token":
                    yield Piece(*thinking.push(message["text"]))
                elif message["type"] == "result":
                    yield Piece(*thinking.finish())
                    yield Answer.from_measured(message["value"])
        except NpukitError as error:
            # a failed kernel leaves an NPU's or a GPU's context unusable for this process
            failed = error.code in ("worker.exception", "device.failed")
            if failed and self.context.device.kind != "cpu":
                self._pipeline.workers.renew()
            raise
        finally:
            self._worker = None

    def answer(self, messages: list[Message], decoding: Decoding) -> Answer:
        """The whole answer at once."""
        *_, last = self.ask(messages, decoding)
        assert isinstance(last, Answer)
        return last

    def warm(self) -> None:
        """Load the model now, so that the first question need not wait for it."""
        self._pipeline.workers.device().ask("load", load=self.context.load())

    def cancel(self, cancelled: Event) -> None:
        """The answer that was asked for with ``cancelled`` stops after its next token. A signal handler or
        another thread may call it, before its start too."""
        cancelled.set()
        if self._worker is not None:
            self._worker.cancel()

    def abort(self) -> bool:
        """End the worker now: the answer under way fails, the next question starts another worker. False
        while there is no worker yet."""
        worker = self._worker
        if worker is not None:
            worker.abort()
        return worker is not None


def given(
    inputs: dict[str, Any], downsample: str = "", max_slices: int | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What processor and generate are given, and what the processor alone is given."""
    both = {**inputs, **({"downsample_mode": downsample} if downsample else {})}
    return both, {} if max_slices is None else {"max_slice_nums": max_slices}
