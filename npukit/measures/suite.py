"""One side's answers to a question set: generated, or for a choice the likeliest of what is offered."""

from __future__ import annotations

from typing import Any

import torch

from npukit.session import Session
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> list[str]:
    """``request`` holds load, options, max_new_tokens, and questions: rows of messages and choices."""
    session = context.session(request["load"])
    texts = []
    for number, question in enumerate(request["questions"], 1):
        context.progress(f"question {number} of {len(request['questions'])} on {context.device.name}")
        inputs = session.encode(question["messages"], request["options"])
        if question["choices"]:
            texts.append(_likeliest(session, inputs, question["choices"], request["options"]))
        else:
            answer = session.generate(
                inputs, max_new_tokens=request["max_new_tokens"], options=request["options"]
            )
            texts.append(answer.text)
    return texts


def _likeliest(session: Session, inputs: dict[str, Any], choices: list[str], options: dict[str, Any]) -> str:
    """The choice with the largest mean log-likelihood of its tokens after the prompt."""
    found = []
    prompt = inputs["input_ids"]
    for choice in choices:
        encoded = session.task.tokenizer(choice, add_special_tokens=False, return_tensors="pt")["input_ids"]
        tokens = torch.cat([prompt, encoded.to(prompt)], 1)
        whole = {**inputs, "input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
        rows = session.logits(whole, options)[prompt.shape[1] - 1 : -1].double().log_softmax(-1)
        found.append(rows.gather(1, encoded[0][:, None]).mean().item())
    return choices[max(range(len(choices)), key=found.__getitem__)]
