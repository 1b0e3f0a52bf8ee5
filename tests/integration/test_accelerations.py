"""Accelerations on a whole model and on the command line: the same answers, what is in force written down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from npukit.accelerations import VERSIONS, Refused
from npukit.accelerations.vision_windows import Batched, apply
from npukit.builtin import model_dir, picture
from npukit.devices.base import open_device
from npukit.devices.name import DeviceName
from npukit.measures.dispatches import Counting, dispatches_per_token
from npukit.session import LoadSpec, Session
from tests.integration.conftest import Npukit

pytestmark = pytest.mark.torch
QUESTION: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "image", "path": str(picture("two-cats.png"))},
            {"type": "text", "text": "What animals are these?"},
        ],
    }
]
SLICED = {"downsample_mode": "4x", "max_slice_nums": 9}


def load(accelerate: list[str]) -> Session:
    spec = LoadSpec(str(model_dir()), "image-text-to-text", accelerate=accelerate)
    return Session.load(spec, open_device(DeviceName("cpu")))


@pytest.fixture(scope="module")
def plain() -> Iterator[Session]:
    torch.set_num_threads(1)
    with load([]) as session:
        yield session


@pytest.fixture(scope="module")
def accelerated() -> Iterator[Session]:
    with load(list(VERSIONS)) as session:
        yield session


def test_all_are_in_force_on_the_embedded_model(accelerated: Session, plain: Session) -> None:
    rows = {row.name: row.used for row in accelerated.report.accelerations}
    assert rows == {"vision-windows": True, "npu-operators": False, "decode-step": True}
    assert plain.report.accelerations == []
    assert plain.decoder is None


@pytest.mark.parametrize("options", [{}, SLICED], ids=["as it comes", "sliced"])
def test_the_same_answer_about_a_picture(
    options: dict[str, Any], accelerated: Session, plain: Session
) -> None:
    model_options = {name: value for name, value in options.items() if name == "downsample_mode"}
    answers = []
    for session in (plain, accelerated):
        inputs = session.encode(QUESTION, options)
        answers.append(session.generate(inputs, max_new_tokens=12, options=model_options))
    assert answers[0].token_ids == answers[1].token_ids
    assert answers[0].finish == answers[1].finish
    assert len(answers[0].token_ms) == len(answers[1].token_ms)


def test_fewer_operators_for_a_token(accelerated: Session, plain: Session) -> None:
    counts = []
    for session in (plain, accelerated):
        inputs = session.encode(QUESTION, {})
        counts.append(sum(dispatches_per_token(session, inputs, {}).values()))
    assert counts[1] < 0.45 * counts[0]


def test_fewer_operators_for_a_large_picture(accelerated: Session, plain: Session, tmp_path: Path) -> None:
    with Image.open(picture("two-cats.png")) as image:
        image.resize((448, 448)).save(tmp_path / "large.png")
    content = [{"type": "image", "path": str(tmp_path / "large.png")}, QUESTION[0]["content"][1]]
    counts, logits = [], []
    for session in (plain, accelerated):
        inputs = session.encode([{"role": "user", "content": content}], {"max_slice_nums": 9})
        with Counting() as counting:
            logits.append(session.logits(inputs))
        counts.append(sum(counting.operators.values()))
    assert counts[1] <= counts[0] - 150  # 10 slices of 16 windows are one attention
    assert torch.allclose(*logits, atol=1e-4)


@pytest.mark.parametrize("bounds", [[0, 4, 9], [0, 4, 8, 9], [0, 2, 4, 9, 11]])
def test_segments_of_different_lengths(bounds: list[int], plain: Session) -> None:
    module = next(m for m in plain.model.modules() if type(m).__name__ == "MiniCPMV4_6VisionAttention")
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, bounds[-1], module.q_proj.in_features, generator=generator)
    segments = torch.tensor(bounds, dtype=torch.int32)
    with torch.no_grad():
        expected = module(x, cu_seqlens=segments, max_seqlen=5)[0]
        assert torch.allclose(Batched(module)(x, cu_seqlens=segments, max_seqlen=5)[0], expected, atol=1e-6)


def test_an_attention_that_computes_otherwise_keeps_its_form(plain: Session) -> None:
    module = next(m for m in plain.model.modules() if type(m).__name__ == "MiniCPMV4_6VisionAttention")
    original = module.forward
    module.forward = lambda *arguments, **named: (1.1 * original(*arguments, **named)[0], None)
    try:
        with pytest.raises(Refused, match=r"its batched attention differs by 0\.09"):
            apply(plain.model, plain.device, {})
    finally:
        del module.forward


# --- on the command line


def test_a_bench_says_what_is_in_force_and_no_accelerate_is_another_measurement(npukit: Npukit) -> None:
    few = ("--rounds", 3, "--warmup", 0, "--new-tokens", 4, "--device", "cpu", "--json")
    seen = npukit("bench", "tiny-minicpm-v", *few).document
    rows = {row["name"]: row["used"] for row in seen["measured"]["load"]["accelerations"]}
    assert rows == {"vision-windows": True, "npu-operators": False, "decode-step": True}
    without = npukit("bench", "tiny-minicpm-v", *few, "--no-accelerate").document
    assert without["measured"]["load"]["accelerations"] == []
    assert without["key"] != seen["key"]
    more = [sum(document["measured"]["dispatches"].values()) for document in (seen, without)]
    assert more[0] < more[1]
