"""Ask a pipeline's worker for answers, one at a time; one that broke is replaced before the next question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npukit.answer import Answer, Piece
from npukit.decoding import Decoding
from npukit.errors import NpukitError
from npukit.pipeline import Pipeline
from npukit.tasks import Message
from npukit.thinking import Thinking


class Answering:
    """``downsample`` (4x, 16x) goes to the processor and to generate, ``max_slices`` to the processor."""

    def __init__(self, pipeline: Pipeline, *, downsample: str = "", max_slices: int | None = None) -> None:
        self._pipeline = pipeline
        self.context = pipeline.ready()
        self._inputs, self._prepare = given(self.context.recipe.generation.inputs, downsample, max_slices)

    def ask(self, messages: list[Message], decoding: Decoding) -> Iterator[Piece | Answer]:
        """The answer in pieces as they come, and at the end the whole. Raises NpukitError."""
        thinking = Thinking()
        try:
            for message in self._pipeline.workers.device().stream(
                "generate",
                load=self.context.load(),
                messages=messages,
                decoding=decoding.to_json(),
                options=self._inputs,
                prepare=self._prepare,
            ):
                if message["type"] == "token":
                    yield Piece(*thinking.push(message["text"]))
                elif message["type"] == "result":
                    yield Piece(*thinking.finish())
                    yield Answer.from_measured(message["value"])
        except NpukitError as error:
            # a failed kernel leaves an NPU's or a GPU's context unusable for this process
            if error.code == "worker.exception" and self.context.device.kind != "cpu":
                self.end()
            raise

    def answer(self, messages: list[Message], decoding: Decoding) -> Answer:
        """The whole answer at once."""
        *_, last = self.ask(messages, decoding)
        assert isinstance(last, Answer)
        return last

    def cancel(self) -> None:
        """The answer under way stops after its next token."""
        self._pipeline.workers.device().cancel()

    def end(self) -> None:
        """End the worker now; the next question starts another."""
        self._pipeline.workers.renew()


def given(
    inputs: dict[str, Any], downsample: str = "", max_slices: int | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What processor and generate are given, and what the processor alone is given."""
    both = {**inputs, **({"downsample_mode": downsample} if downsample else {})}
    return both, {} if max_slices is None else {"max_slice_nums": max_slices}
