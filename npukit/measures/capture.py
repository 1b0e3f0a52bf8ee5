"""Record the outputs of prompts to a file: the reference's side of accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from npukit.capture import Recording, write_capture
from npukit.measures.verify import answer_prompt
from npukit.session import Session
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, prompts, options, max_new_tokens, and the path to write."""
    session = context.session(request["load"])
    recordings = {}
    for prompt in request["prompts"]:
        context.progress(f"recording {prompt['id']}")
        recordings[prompt["id"]] = record(session, prompt, request)
    about = {"dtype": session.spec.dtype, "device": dict(context.device.info())}
    write_capture(Path(request["path"]), recordings, about)
    return about


def record(session: Session, prompt: dict[str, Any], request: dict[str, Any]) -> Recording:
    """The logits of one prompt and its greedy answer."""
    options = request["options"]
    logits = session.logits(session.encode(prompt["messages"], options), options)
    answer = answer_prompt(session, prompt["messages"], request)
    return Recording(logits, torch.tensor(answer.token_ids, dtype=torch.int64))
