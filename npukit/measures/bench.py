"""Measure speed and memory: raw samples of every phase, nothing averaged away."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from npukit.devices.base import Device
from npukit.devices.cpu import CpuDevice
from npukit.devices.name import DeviceName
from npukit.measures.dispatches import decode_bytes, dispatches_per_token
from npukit.measures.limits import device_limits
from npukit.measures.workload import repeated, sized
from npukit.session import Session
from npukit.worker.context import WorkerContext

MIN_ROUNDS = 3  # whatever --seconds says
WATCH_EVERY = 50  # tokens between two looks at the memory of a sustained run
FILLER = "The quick brown fox jumps over the lazy dog. "  # what a prompt is lengthened with
HOST = CpuDevice(DeviceName("cpu"))


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, messages, options, warmup, rounds, seconds, new_tokens, sustained_tokens, and
    batch and prompt_tokens (0: as it is) that the prompt is made into.

    Every round is end to end: input preparation, vision, prefill and a fixed number of tokens, eos ignored.
    """
    device = context.device
    load_one = os.getloadavg()[0]
    _reset_peak(device)
    session = context.session(request["load"])
    memory = {"loaded": _memory(device)}
    _reset_peak(device)
    vision = _VisionWatch(session, device)
    with vision.watching():
        warmup = [
            _round(context, session, request, vision, f"warmup {i + 1}") for i in range(request["warmup"])
        ]
        memory["warmup"] = _memory(device)
        _reset_peak(device)
        rounds: list[dict[str, Any]] = []
        started = time.perf_counter()
        while _goes_on(len(rounds), time.perf_counter() - started, request):
            rounds.append(_round(context, session, request, vision, f"round {len(rounds) + 1}"))
    memory["rounds"] = _memory(device)
    context.progress("measuring what the device can do at best")
    inputs = _inputs(session, request)
    return {
        "device": dict(device.info()),
        "load": asdict(session.report),
        "prompt_tokens": rounds[0]["prompt_tokens"],
        "new_tokens": request["new_tokens"],
        "warmup": warmup,
        "rounds": rounds,
        "memory": memory,
        "dispatches": dispatches_per_token(session, inputs, request["options"]),
        "decode_bytes": decode_bytes(session),
        "limits": device_limits(device, session.model.dtype),
        "load_average": {"before": load_one, "cores": os.cpu_count()},
        "sustained": _sustained(context, session, request) if request["sustained_tokens"] else None,
    }


def _memory(device: Device) -> dict[str, int | None]:
    """The device's memory, and this process's resident set beside it."""
    host = HOST.memory()
    resident = {"host_rss_bytes": host.allocated_bytes, "host_peak_rss_bytes": host.peak_allocated_bytes}
    return {**device.memory().to_json(), **resident}


def _reset_peak(device: Device) -> None:
    HOST.reset_peak()
    device.reset_peak()


def _inputs(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    inputs = session.encode(request["messages"], request["options"])
    filler = session.task.tokenizer(FILLER, add_special_tokens=False)["input_ids"]
    return repeated(sized(inputs, request["prompt_tokens"], filler), request["batch"])


def _goes_on(done: int, elapsed_s: float, request: dict[str, Any]) -> bool:
    if done >= request["rounds"]:
        return False
    return done < MIN_ROUNDS or request["seconds"] is None or elapsed_s < request["seconds"]


def _round(
    context: WorkerContext, session: Session, request: dict[str, Any], vision: _VisionWatch, name: str
) -> dict[str, Any]:
    """Times in milliseconds. ``total_ms`` covers preparation, generation and detokenising."""
    vision.reset()
    started = time.perf_counter()
    inputs = _inputs(session, request)
    context.device.synchronize()
    prepare_ms = (time.perf_counter() - started) * 1e3
    answer = session.generate(
        inputs,
        max_new_tokens=request["new_tokens"],
        min_new_tokens=request["new_tokens"],
        options=request["options"],
    )
    first_ms = answer.token_ms[0]
    total_ms = prepare_ms + answer.total_ms + answer.detokenise_ms
    context.progress(f"{name}: {total_ms:.1f} ms")
    return {
        "prepare_ms": prepare_ms,
        "vision_ms": vision.spent_ms,
        "prefill_ms": first_ms - vision.spent_ms,
        "ttft_ms": prepare_ms + first_ms,
        "decode_ms": answer.token_ms[-1] - first_ms,
        "detokenise_ms": answer.detokenise_ms,
        "total_ms": total_ms,
        "token_ms": answer.token_ms,
        "tokens": len(answer.token_ids),
        "prompt_tokens": answer.prompt_tokens,
    }


class _VisionWatch:
    """Times the encoding of pictures, which transformers' models do in ``get_image_features``."""

    def __init__(self, session: Session, device: Device) -> None:
        self._inner = getattr(session.model, "model", None)
        self._device = device
        self.spent_ms = 0.0

    def reset(self) -> None:
        self.spent_ms = 0.0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        encode = getattr(self._inner, "get_image_features", None)
        if self._inner is None or encode is None:
            yield
            return

        @functools.wraps(encode)  # generate looks at its signature
        def timed(*arguments: Any, **options: Any) -> Any:
            self._device.synchronize()
            started = time.perf_counter()
            features = encode(*arguments, **options)
            self._device.synchronize()
            self.spent_ms += (time.perf_counter() - started) * 1e3
            return features

        self._inner.get_image_features = timed
        try:
            yield
        finally:
            del self._inner.get_image_features


def _sustained(context: WorkerContext, session: Session, request: dict[str, Any]) -> dict[str, Any]:
    """One long generation: when every token came, and the memory as it went."""
    tokens = request["sustained_tokens"]
    context.progress(f"generating {tokens} tokens without a pause")
    watched: list[dict[str, Any]] = []
    seen = 0

    def look() -> bool:
        nonlocal seen
        seen += 1
        if seen % WATCH_EVERY == 0:
            watched.append({"tokens": seen, **_memory(context.device)})
            context.progress(f"{seen} of {tokens} tokens")
        return context.cancelled.is_set()

    answer = session.generate(
        _inputs(session, request),
        max_new_tokens=tokens,
        min_new_tokens=tokens,
        options=request["options"],
        stop=look,
    )
    return {"tokens": len(answer.token_ids), "token_ms": answer.token_ms, "memory": watched}
