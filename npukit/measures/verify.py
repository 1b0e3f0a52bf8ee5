"""Measure what verify judges: the load, the config, the answers, a random control, a repetition, and the
ways in which models go wrong without saying so."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from npukit.compare import distances
from npukit.measures.image_tokens import measure_image_tokens
from npukit.measures.landing import aliases_of, landing, unread
from npukit.measures.meta_load import headers_against_model, values_landed
from npukit.measures.ops import measure_fallbacks
from npukit.measures.quality import TEXTS, measure_texts, repetition
from npukit.measures.watch import count, watched
from npukit.measures.words import measure_words
from npukit.session import Generated, LoadSpec, Session
from npukit.tasks import open_task
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, prompts, options, max_new_tokens, control_seed, texts, and layers: whether
    every module's output is watched."""
    spec = LoadSpec(**request["load"])
    texts = {**TEXTS, **request["texts"]}
    context.progress("comparing the files' headers with the model on the meta device")
    task = open_task(spec.task, spec.directory, spec.trust_remote_code)
    headers = headers_against_model(spec, task)
    # the control comes first, so that the model is loaded once for the stages that follow
    context.progress("answering with random weights, as a control")
    control = context.session({**request["load"], "random_seed": request["control_seed"], "accelerate": []})
    control_answers, control_texts = _answers(control, request), measure_texts(control, texts)
    session = context.session(request["load"])
    context.progress("answering with the model's weights, twice")
    answers, again = _answers(session, request), _answers(session, request)
    context.progress("looking at the load, the words, the pictures and the attention")
    inputs = session.encode(request["prompts"][0]["messages"], request["options"])
    return {
        "device": dict(context.device.info()),
        "headers": headers,
        "load": asdict(session.report),
        "values": values_landed(session),
        "config": _config(session),
        "answers": answers,
        "control": control_answers,
        "repeat": [answer["token_ids"] for answer in again],
        "quality": {
            name: {**row, "control_loss": control_texts[name]["loss"]}
            for name, row in measure_texts(session, texts).items()
        },
        "words": measure_words(session, bool(task.tokenizer.chat_template)),
        "image_tokens": measure_image_tokens(session, request["options"]),
        **_numbers(session, inputs, request),
        "kernels": measure_fallbacks(context, session, inputs, request["options"]),
        "memory": context.device.memory().to_json(),
    }


def _config(session: Session) -> dict[str, Any]:
    written = json.loads(Path(session.spec.directory, "config.json").read_text(encoding="utf-8"))
    landed = json.loads(json.dumps(session.config.to_dict(), default=str))
    return {
        **landing(written, landed, aliases_of(session.config)),
        "unread": unread(written, session.model),
        "landed": landed,
    }


def _numbers(session: Session, inputs: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The logits of the first prompt: whether finite, another attention's, another precision's, by layer."""
    options = request["options"]
    with watched(session.model) if request["layers"] else contextlib.nullcontext() as layers:
        logits = session.logits(inputs, options)
    return {
        "logits": count(logits),
        "layers": layers,
        "attention": _other_attention(session, inputs, options, logits),
        "hf32": _fast_precision(session, inputs, options, logits),
    }


def _other_attention(
    session: Session, inputs: dict[str, Any], options: dict[str, Any], logits: torch.Tensor
) -> dict[str, Any] | None:
    """sdpa against eager on this device; None where the model has but one."""
    own = session.report.attention
    other = "eager" if own == "sdpa" else "sdpa"
    switch = getattr(session.model, "set_attn_implementation", None)  # transformers 4.57
    if switch is None:
        return None
    try:
        switch(other)
    except (ValueError, ImportError):
        return None
    try:
        seen = session.logits(inputs, options)
    finally:
        switch(own)
    found = distances(logits, seen)
    return {"own": own, "other": other, "max_abs": found["max_abs"], "relative_l2": found["relative_l2"]}


def _fast_precision(
    session: Session, inputs: dict[str, Any], options: dict[str, Any], logits: torch.Tensor
) -> dict[str, Any] | None:
    """HF32 / TF32 allowed against forbidden, in float32; None where the device has no such thing."""
    if session.spec.dtype != "float32":
        return None
    with session.device.precision("fast") as switches:
        if not switches:
            return None
    strict = session.logits(inputs, options, precision="strict")
    fast = session.logits(inputs, options, precision="fast")
    found = distances(strict, fast)
    return {
        "max_abs": found["max_abs"],
        "relative_l2": found["relative_l2"],
        "in_force_max_abs": distances(strict, logits)["max_abs"],
    }


def _answers(session: Session, request: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for prompt in request["prompts"]:
        answer = answer_prompt(session, prompt["messages"], request)
        rows.append(
            {
                "prompt": prompt["id"],
                "text": answer.text,
                "token_ids": answer.token_ids,
                "repetition": repetition(answer.token_ids),
            }
        )
    return rows


def answer_prompt(session: Session, messages: list[dict[str, Any]], request: dict[str, Any]) -> Generated:
    """The greedy answer to one prompt under the request's options."""
    options = request["options"]
    inputs = session.encode(messages, options)
    return session.generate(inputs, max_new_tokens=request["max_new_tokens"], options=options)
