"""One streamed answer, for chat."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, messages, options and max_new_tokens; text goes out as it comes."""
    session = context.session(request["load"])
    context.device.enter_thread()
    options = request["options"]
    answer = session.generate(
        session.encode(request["messages"], options),
        max_new_tokens=request["max_new_tokens"],
        options=options,
        on_text=context.token,
        stop=context.cancelled.is_set,
    )
    return asdict(answer)
