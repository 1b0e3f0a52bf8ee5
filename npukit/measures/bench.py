"""Measure speed and memory: raw samples, nothing averaged away."""

from __future__ import annotations

import time
from typing import Any

from npukit.session import Session
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, messages, options, warmup, rounds and new_tokens.

    Every round is end to end: input preparation, vision, prefill and a fixed number of tokens, eos ignored.
    """
    context.device.reset_peak()
    session = context.session(request["load"])
    loaded = context.device.memory()
    context.device.reset_peak()
    warmup = [_round(context, session, request, f"warmup {i + 1}") for i in range(request["warmup"])]
    rounds = [_round(context, session, request, f"round {i + 1}") for i in range(request["rounds"])]
    return {
        "device": dict(context.device.info()),
        "load_s": session.report.load_s,
        "parameters": session.report.parameters,
        "prompt_tokens": (rounds or warmup)[0]["prompt_tokens"],
        "new_tokens": request["new_tokens"],
        "cold": warmup[0] if warmup else None,
        "warmup": warmup,
        "rounds": rounds,
        "memory": {"loaded": loaded.to_json(), "peak": context.device.memory().to_json()},
    }


def _round(context: WorkerContext, session: Session, request: dict[str, Any], name: str) -> dict[str, Any]:
    """Times in milliseconds. ``total_ms`` covers preparation and generation."""
    started = time.perf_counter()
    inputs = session.encode(request["messages"], request["options"])
    prepare_ms = (time.perf_counter() - started) * 1e3
    answer = session.generate(
        inputs,
        max_new_tokens=request["new_tokens"],
        min_new_tokens=request["new_tokens"],
        options=request["options"],
    )
    context.progress(f"{name} of {request['rounds']}: {prepare_ms + answer.total_ms:.1f} ms")
    return {
        "prepare_ms": prepare_ms,
        "ttft_ms": prepare_ms + answer.token_ms[0],
        "total_ms": prepare_ms + answer.total_ms,
        "token_ms": answer.token_ms,
        "tokens": len(answer.token_ids),
        "prompt_tokens": answer.prompt_tokens,
    }
