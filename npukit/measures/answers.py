"""The greedy answers alone: what verify asks of a fresh process."""

from __future__ import annotations

from typing import Any

from npukit.measures.verify import answer_prompt
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> list[list[int]]:
    """Token ids per prompt."""
    session = context.session(request["load"])
    return [answer_prompt(session, prompt["messages"], request).token_ids for prompt in request["prompts"]]
