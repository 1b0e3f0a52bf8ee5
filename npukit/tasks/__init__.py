"""One kind of model per file: the transformers Auto class, and the inputs and outputs that go with it."""

from __future__ import annotations

import importlib
from typing import Any, Protocol

Message = dict[
    str, Any
]  # {"role": "user", "content": [{"type": "text", "text": ...}, {"type": "image", "path": ...}]}


class Task(Protocol):
    """How inputs are made and answers are read. A task's module offers ``open_task(directory, trust)``."""

    def auto_class(self) -> Any:
        """The transformers Auto class that loads the model."""
        ...

    def encode(self, messages: list[Message], options: dict[str, Any]) -> dict[str, Any]:
        """Messages as the model's inputs, tensors on the CPU, batch of 1."""
        ...

    def decode(self, token_ids: list[int]) -> str:
        """The text of generated tokens, special ones left out."""
        ...

    @property
    def tokenizer(self) -> Any: ...


def open_task(name: str, directory: str, trust_remote_code: bool) -> Task:
    """The task called ``name`` for the model in ``directory``, its processor loaded."""
    module = importlib.import_module(f"npukit.tasks.{name.replace('-', '_')}")
    task: Task = module.open_task(directory, trust_remote_code)
    return task


def detect_task(config: dict[str, Any]) -> str:
    """The task of a model by its config.json: one with a vision part answers about images."""
    return "image-text-to-text" if "vision_config" in config else "text-generation"
