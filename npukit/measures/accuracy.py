"""Measure how far a candidate is from a recorded reference, and how far the same dtype is on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from npukit.capture import Capture, Recording
from npukit.compare import distances, first_difference, margin, representable
from npukit.measures.capture import record, side
from npukit.worker.context import WorkerContext


def measure(context: WorkerContext, request: dict[str, Any]) -> dict[str, Any]:
    """``request`` holds load, prompts, options, max_new_tokens, identity, and captures by path: reference,
    and floor with the side it is to be set against (``floor`` may be None).

    Per prompt: ``total`` is candidate against reference, ``dtype`` the floor's pair, ``device`` candidate
    against floor where both have one dtype, ``generation`` and ``generation_floor`` the steps of the answer.
    """
    reference = Capture(Path(request["reference"]))
    reference.must_match(request["identity"])
    floor = Capture(Path(request["floor"]["path"])) if request["floor"] else None
    session = context.session(request["load"])
    dtype = getattr(torch, session.spec.dtype)
    rows = []
    for prompt in request["prompts"]:
        context.progress(f"comparing {prompt['id']}")
        believed, judged = reference.recording(prompt["id"]), record(session, prompt, request)
        row = {
            "prompt": prompt["id"],
            "positions": judged.logits.shape[0],
            "vocabulary": judged.logits.shape[1],
            "total": prompt_distances(believed, judged),
            "generation": generation_distances(believed, judged),
            "unfinite": {"reference": _unfinite(believed), "candidate": _unfinite(judged)},
            "representable": representable(judged.logits, dtype),
        }
        if floor is not None:
            row.update(_floor(believed, judged, floor.recording(prompt["id"]), request["floor"]["of"]))
            row["representable_floor"] = representable(floor.recording(prompt["id"]).logits, dtype)
        rows.append(row)
    return {
        "device": dict(context.device.info()),
        "candidate": {**side(session), "missing": len(session.report.missing + session.report.mismatched)},
        "reference": {name: value for name, value in reference.about.items() if name != "identity"},
        "floor": {"about": request["floor"]["about"], "how": request["floor"]["how"]} if floor else None,
        "prompts": rows,
    }


def _unfinite(recording: Recording) -> int:
    """NaN and inf among a recording's logits; -inf is how a model rules tokens out."""
    return sum(
        int((logits.isnan() | (logits == float("inf"))).sum())
        for logits in (recording.logits, recording.answer_logits)
    )


def _floor(believed: Recording, judged: Recording, floor: Recording, of: str) -> dict[str, Any]:
    """``of`` says whose error the floor is: the candidate's dtype ("candidate": the recording is in it) or
    the reference's own ("reference": the recording is what the reference is measured by)."""
    if of == "reference":
        return {
            "dtype": prompt_distances(floor, believed),
            "generation_floor": generation_distances(floor, believed),
            "device": None,
        }
    return {
        "dtype": prompt_distances(believed, floor),
        "generation_floor": generation_distances(believed, floor),
        "device": prompt_distances(floor, judged),
    }


def prompt_distances(believed: Recording, judged: Recording) -> dict[str, float]:
    return distances(believed.logits, judged.logits, believed.input_ids[1:])


def generation_distances(believed: Recording, judged: Recording) -> dict[str, Any]:
    """The steps that both sides took from the same tokens: up to the first that differs, that one included.

    ``first_difference`` is its index or None, ``margin`` how much likelier the reference found its own token
    there, in logits.
    """
    parted = first_difference(believed.tokens, judged.tokens)
    length = min(len(believed.answer_logits), len(judged.answer_logits))
    steps = length if parted is None else min(parted + 1, length)
    found: dict[str, Any] = distances(believed.answer_logits[:steps], judged.answer_logits[:steps])
    gap = None
    if parted is not None and parted < min(len(believed.tokens), len(judged.tokens)):
        own, other = int(believed.tokens[parted]), int(judged.tokens[parted])
        gap = margin(believed.answer_logits[parted], own, other)
    return {
        "tokens": len(believed.tokens),
        "steps": steps,
        "first_difference": parted,
        "margin": gap,
        **found,
    }
