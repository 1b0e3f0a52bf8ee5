"""One streamed answer, for chat."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from npukit.worker.workbench import Workbench


def measure(bench: Workbench, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, messages, options and max_new_tokens; text goes out as it comes."""
    session = bench.session(request["load"])
    bench.device.enter_thread()
    options = request["options"]
    answer = session.generate(
        session.encode(request["messages"], options),
        max_new_tokens=request["max_new_tokens"],
        options=options,
        on_text=bench.token,
        stop=bench.cancelled.is_set,
    )
    return asdict(answer)
