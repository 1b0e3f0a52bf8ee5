"""Record the outputs of prompts to a file: one side of accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from npukit.capture import Recording, write_capture
from npukit.session import Session
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, prompts, options, max_new_tokens, identity (what was recorded, by digests), and
    the path to write."""
    session = context.session(request["load"])
    recordings = {}
    for prompt in request["prompts"]:
        context.progress(f"recording {prompt['id']} in {session.spec.dtype} on {context.device.name}")
        recordings[prompt["id"]] = record(session, prompt, request)
    about = {**side(session), "identity": request["identity"]}
    write_capture(Path(request["path"]), recordings, about)
    return about


def side(session: Session) -> dict[str, Any]:
    """What computed: device, dtype asked for, dtypes of the parameters, attention, operators replaced."""
    return {
        "device": str(session.device.name),
        "dtype": session.spec.dtype,
        "parameters": session.report.dtypes,
        "attention": session.report.attention,
        "precision": session.spec.precision,
        "accelerations": [one.name for one in session.report.accelerations if one.used],
        "card": dict(session.device.info()),
    }


def record(session: Session, prompt: dict[str, Any], request: dict[str, Any]) -> Recording:
    """The logits of one prompt, its greedy answer, and the logits of every step of that."""
    options = request["options"]
    inputs = session.encode(prompt["messages"], options)
    logits = session.logits(inputs, options)
    steps: list[torch.Tensor] = []
    answer = session.generate(
        inputs,
        max_new_tokens=request["max_new_tokens"],
        options=options,
        on_logits=lambda scores: steps.append(scores.to("cpu", torch.float32)),
    )
    return Recording(
        logits=logits,
        input_ids=inputs["input_ids"][0].cpu(),
        tokens=torch.tensor(answer.token_ids, dtype=torch.int64),
        answer_logits=torch.stack(steps),
    )
