"""Measure what verify judges: the load, the config, the answers, a random control, a repetition."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from npukit.measures.landing import landing
from npukit.session import Generated, Session
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, prompts, options, max_new_tokens and control_seed."""
    # the control comes first, so that the model is loaded once for the stages that follow
    context.progress("answering with random weights, as a control")
    control = context.session({**request["load"], "random_seed": request["control_seed"]})
    control_answers = _answers(context, control, request)
    session = context.session(request["load"])
    context.progress("answering with the model's weights, twice")
    answers = _answers(context, session, request)
    again = _answers(context, session, request)
    written = json.loads(Path(session.spec.directory, "config.json").read_text(encoding="utf-8"))
    return {
        "device": dict(context.device.info()),
        "load": asdict(session.report),
        "config": landing(written, session.config.to_dict()),
        "answers": answers,
        "control": control_answers,
        "repeat": [answer["token_ids"] for answer in again],
        "memory": context.device.memory().to_json(),
    }


def _answers(context: WorkerContext, session: Session, request: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for prompt in request["prompts"]:
        answer = answer_prompt(session, prompt["messages"], request)
        rows.append({"prompt": prompt["id"], "text": answer.text, "token_ids": answer.token_ids})
    return rows


def answer_prompt(session: Session, messages: list[dict[str, Any]], request: dict[str, Any]) -> Generated:
    """The greedy answer to one prompt under the request's options."""
    options = request["options"]
    inputs = session.encode(messages, options)
    return session.generate(inputs, max_new_tokens=request["max_new_tokens"], options=options)
