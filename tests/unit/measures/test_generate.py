"""One answer in the worker: the thread's device first, and the memory back whatever happens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from npukit.decoding import GREEDY
from npukit.errors import NpukitError

pytestmark = pytest.mark.torch


class FakeContext:
    """Writes down what is done, in order."""

    def __init__(self, prompt: str, error: Exception | None = None) -> None:
        self.done: list[str] = []
        self.tokens: list[str] = []
        self._prompt, self._error = prompt, error
        note = self.done.append
        self.device = SimpleNamespace(
            enter_thread=lambda: note("enter thread"), empty_cache=lambda: note("empty cache")
        )
        self.cancelled = SimpleNamespace(is_set=lambda: False)
        self.token = self.tokens.append

    def session(self, load: dict[str, Any]) -> Any:
        tokenizer = SimpleNamespace(decode=lambda ids: self._prompt)
        return SimpleNamespace(
            encode=self._encode, generate=self._generate, task=SimpleNamespace(tokenizer=tokenizer)
        )

    def _encode(self, messages: Any, options: dict[str, Any]) -> dict[str, Any]:
        import torch

        self.done.append(f"encode {sorted(options)}")
        return {"input_ids": torch.zeros(1, 8, dtype=torch.int64)}

    def _generate(self, inputs: Any, *, options: dict[str, Any], **rest: Any) -> Any:
        from npukit.session import Generated

        self.done.append(f"generate {sorted(options)}")
        if self._error:
            raise self._error
        return Generated([5], "hm</think>Paris", 8, [1.0], 2.0, 0.1)


REQUEST = {
    "load": {},
    "messages": [],
    "decoding": GREEDY.to_json(),
    "options": {"downsample_mode": "4x"},
    "prepare": {"max_slice_nums": 1},
}
ORDER = [
    "enter thread",
    "encode ['downsample_mode', 'max_slice_nums']",
    "generate ['downsample_mode']",
    "empty cache",
]


def measure(context: FakeContext) -> dict[str, Any]:
    from npukit.measures.generate import measure

    return measure(context, REQUEST)  # type: ignore[arg-type]


def test_the_order_of_things() -> None:
    context = FakeContext("<|assistant|>")
    assert measure(context)["text"] == "hm</think>Paris"
    assert context.done == ORDER
    assert context.tokens == []


def test_memory_goes_back_after_an_error_too() -> None:
    context = FakeContext("", NpukitError("device.out-of-memory", device="npu:0", reason="x"))
    with pytest.raises(NpukitError):
        measure(context)
    assert context.done == ORDER


def test_reasoning_that_the_template_opened_is_marked() -> None:
    context = FakeContext("<|assistant|><think>\n")
    assert measure(context)["text"] == "<think>\nhm</think>Paris"
    assert context.tokens == ["<think>\n"]
