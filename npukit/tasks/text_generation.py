"""Causal language models: text in, text out."""

from __future__ import annotations

from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

from npukit.errors import NpukitError
from npukit.tasks import Message


class TextGeneration:
    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @property
    def tokenizer(self) -> Any:
        return self._tokenizer

    def auto_class(self) -> Any:
        return AutoModelForCausalLM

    def encode(self, messages: list[Message], options: dict[str, Any]) -> dict[str, Any]:
        if any(part["type"] != "text" for message in messages for part in message["content"]):
            raise NpukitError("task.text-only")
        if self._tokenizer.chat_template:
            plain = [{"role": m["role"], "content": _text(m)} for m in messages]
            text = self._tokenizer.apply_chat_template(plain, tokenize=False, add_generation_prompt=True)
            return self._inputs(text, add_special_tokens=False)
        # a base model has no turns: it continues the text
        return self._inputs("\n".join(_text(message) for message in messages))

    def _inputs(self, text: str, **options: Any) -> dict[str, Any]:
        # some tokenizers add token_type_ids, which causal models refuse
        encoded = self._tokenizer(text, return_tensors="pt", **options)
        return {name: encoded[name] for name in ("input_ids", "attention_mask")}

    def decode(self, token_ids: list[int]) -> str:
        return self._tokenizer.decode(token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def _text(message: Message) -> str:
    return "".join(part["text"] for part in message["content"])


def open_task(directory: str, trust_remote_code: bool) -> TextGeneration:
    return TextGeneration(AutoTokenizer.from_pretrained(directory, trust_remote_code=trust_remote_code))
