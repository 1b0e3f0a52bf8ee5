"""Measure how far a candidate is from a recorded reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npukit.capture import Capture
from npukit.compare import distances, first_difference
from npukit.measures.capture import record
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, prompts, options, max_new_tokens, and reference: a capture's path."""
    reference = Capture(Path(request["reference"]))
    session = context.session(request["load"])
    rows = []
    for prompt in request["prompts"]:
        context.progress(f"comparing {prompt['id']}")
        believed, judged = reference.recording(prompt["id"]), record(session, prompt, request)
        rows.append(
            {
                "prompt": prompt["id"],
                "positions": judged.logits.shape[0],
                "vocabulary": judged.logits.shape[1],
                **distances(believed.logits, judged.logits),
                "first_difference": first_difference(believed.tokens, judged.tokens),
                "tokens": len(believed.tokens),
            }
        )
    return {
        "device": dict(context.device.info()),
        "candidate": {"device": str(context.device.name), "dtype": session.spec.dtype},
        "reference": reference.about,
        "prompts": rows,
    }
