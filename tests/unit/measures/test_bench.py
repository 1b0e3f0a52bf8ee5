"""The phases of a round add up to the whole: no time is counted twice, none is lost."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from npukit.devices.cpu import CpuDevice
from npukit.devices.name import DeviceName
from npukit.measures import bench
from npukit.performance import PHASES
from npukit.session import Generated

spans = st.lists(st.floats(0.01, 1e3), min_size=2, max_size=12)
DEVICE: Any = CpuDevice(DeviceName("cpu"))


def one_round(answer: Generated, vision_ms: float) -> dict[str, Any]:
    """A round of a session that answers ``answer``, its pictures having taken ``vision_ms``."""
    ids = torch.arange(5)[None]

    def generate(inputs: dict[str, Any], **_: Any) -> Generated:
        assert inputs["input_ids"].shape == (1, 5)
        vision.spent_ms += vision_ms
        return answer

    session: Any = SimpleNamespace(
        model=None,
        encode=lambda messages, options: {"input_ids": ids, "attention_mask": torch.ones_like(ids)},
        generate=generate,
        task=SimpleNamespace(tokenizer=lambda text, **_: {"input_ids": [1]}),
    )
    vision = bench._VisionWatch(session, DEVICE)
    vision.spent_ms = 1e9  # of the round before
    context: Any = SimpleNamespace(device=DEVICE, progress=lambda text: None, cancelled=threading.Event())
    request = {"messages": [], "options": {}, "new_tokens": 2, "batch": 1, "prompt_tokens": 0}
    return bench._round(context, session, request, vision, "round")


@settings(max_examples=50, deadline=None)
@given(spans, st.floats(0, 1), st.floats(0, 10), st.floats(0, 10))
def test_phases_add_up(
    between_ms: list[float], vision_share: float, after_ms: float, detokenise_ms: float
) -> None:
    token_ms = [sum(between_ms[: i + 1]) for i in range(len(between_ms))]
    answer = Generated(
        token_ids=[0] * len(token_ms),
        text="",
        prompt_tokens=5,
        token_ms=token_ms,
        total_ms=token_ms[-1] + after_ms,
        detokenise_ms=detokenise_ms,
    )
    row = one_round(answer, vision_share * token_ms[0])
    assert all(row[f"{phase}_ms"] >= 0 for phase in PHASES)
    assert sum(row[f"{phase}_ms"] for phase in PHASES) + after_ms == pytest.approx(row["total_ms"])
    assert row["prepare_ms"] + row["vision_ms"] + row["prefill_ms"] == pytest.approx(row["ttft_ms"])
    assert row["tokens"] == len(row["token_ms"])
