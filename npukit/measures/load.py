"""The model alone: loaded before anybody asks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """How the weights landed."""
    return asdict(context.session(request["load"]).report)
