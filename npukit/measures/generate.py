"""One streamed answer, for chat and for the HTTP server."""

from __future__ import annotations

import gc
import time
from dataclasses import asdict
from typing import Any

from npukit.decoding import Decoding
from npukit.session import Session
from npukit.thinking import OPEN
from npukit.worker.context import WorkerContext

MARK_TOKENS = 2 * len(OPEN)  # enough for the mark and the blanks after it, were every letter a token


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, messages, decoding, options (for processor and generate) and prepare (for the
    processor alone). Text goes out as it comes; the result is the answer with ``prepare_ms`` before it."""
    session = context.session(request["load"])
    context.device.enter_thread()
    options, decoding = request["options"], Decoding.from_json(request["decoding"])
    started = time.perf_counter()
    inputs = session.encode(request["messages"], {**options, **request["prepare"]})
    prepare_ms = (time.perf_counter() - started) * 1e3
    # a template that opens the reasoning itself leaves its mark in the prompt, where nobody sees it
    lead = f"{OPEN}\n" if opens_thinking(session, inputs) else ""
    if lead:
        context.token(lead)
    try:
        answer = session.generate(
            inputs,
            max_new_tokens=decoding.max_new_tokens,
            min_new_tokens=decoding.min_new_tokens,
            options=options,
            decoding=decoding,
            on_text=context.token,
            stop=context.cancelled.is_set,
        )
    finally:
        # what a turn took goes back before the next one
        del inputs
        gc.collect()
        context.device.empty_cache()
    return {**asdict(answer), "text": lead + answer.text, "prepare_ms": prepare_ms}


def opens_thinking(session: Session, inputs: dict[str, Any]) -> bool:
    """Whether the prompt ends inside the reasoning."""
    tail = session.task.tokenizer.decode(inputs["input_ids"][0, -MARK_TOKENS:].tolist())
    return bool(tail.rstrip().endswith(OPEN))
