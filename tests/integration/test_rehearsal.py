"""Whole models on the emulated NPU over the real command line, each against the CPU of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from npukit.builtin import picture
from tests.fixtures.torch_npu_wheel import usable
from tests.fixtures.videos import write_video
from tests.integration.conftest import MODEL, Npukit
from tests.integration.test_emulator import home_with_emulator, library  # noqa: F401

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not usable(), reason="the emulator needs torch_npu and a C++ compiler"),
    pytest.mark.usefixtures("torch_npu", "home_with_emulator"),
]
ROOT = Path(__file__).parents[2]
MAKE = """
import sys
from pathlib import Path
from tests.fixtures.tiny_models import build_model, build_tokenizer, save, write_recipe
kind, folder = sys.argv[1], Path(sys.argv[2])
model = save(build_model(kind), build_tokenizer(), folder / kind)
write_recipe(folder, model, prompts='[[prompts]]\\nid = "france"\\ntext = "The capital of France is"')
"""


@pytest.mark.parametrize("kind", ["llama", "deepseek_v4"])
def test_random_weights_pass_every_stage_but_know_nothing(kind: str, npukit: Npukit, tmp_path: Path) -> None:
    # in a process of its own: transformers imports the torch_npu that it finds, and here there is no CANN
    made = subprocess.run(
        [sys.executable, "-c", MAKE, kind, str(tmp_path)],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    recipe = tmp_path / f"{kind}.toml"
    said = npukit("rehearse", recipe, "--out", tmp_path / "report", "--json")
    assert said.status == 1, said.err
    stages = {stage["stage"]: stage for stage in said.document["stages"]}
    assert list(stages) == ["fetch", "patch", "verify", "accuracy", "bench"]
    failed = {check["id"] for one in stages.values() for check in one["checks"] if check["passed"] is False}
    assert "quality.known" in failed <= {"quality.known", "quality.entropy"}
    for name in ("verify", "accuracy", "bench"):
        assert stages[name]["device"] == "npu:0" and stages[name]["emulated"] is True


@pytest.fixture
def answers(npukit: Npukit, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, str]]:
    """The CPU's greedy answer, and the emulated NPU's."""

    def answer(*arguments: object) -> str:
        said = npukit("chat", MODEL, "--greedy", "--max-new-tokens", 24, "--json", *arguments)
        assert said.status == 0, said.err
        return str(said.document["answer"])

    def ask(*arguments: object) -> tuple[str, str]:
        with monkeypatch.context() as plain:
            plain.delenv(
                "PYTHONPATH"
            )  # transformers imports the torch_npu that it finds, with CANN or without
            cpu = answer("--device", "cpu", *arguments)
        return cpu, answer("--device", "npu:0", "--emulated", *arguments)

    return ask


@pytest.mark.parametrize("downsample", ["16x", "4x"])
def test_pictures_of_every_form_are_seen_as_on_the_cpu(
    downsample: str, answers: Callable[..., tuple[str, str]]
) -> None:
    names = ("two-dogs-wide.png", "one-dog-tall.png", "three-cats-large.png")  # the last one is cut in slices
    images = [word for name in names for word in ("--image", picture(name))]
    cpu, npu = answers(*images, "--downsample", downsample, "--question", "What is in each image?")
    assert cpu and npu == cpu


def test_a_video_is_seen_as_on_the_cpu(tmp_path: Path, answers: Callable[..., tuple[str, str]]) -> None:
    scenes = [
        Image.open(picture(name)).convert("RGB").resize((112, 112))
        for name in ("one-cat.png", "two-cats.png")
    ]
    video = write_video(tmp_path / "cats.mp4", scenes, seconds=2)
    cpu, npu = answers("--video", video, "--question", "What is in this video?")
    assert cpu and npu == cpu


@pytest.mark.parametrize(
    ("setting", "value", "status", "finding"),
    [
        ("NPUKIT_EMU_FAULT", "aclnnMm:2:507011", 5, "runtime.model-execution"),
        ("NPUKIT_EMU_FAULT", "aclnnMatmul:1:507014", 5, "runtime.aicore"),  # the kernel's time is over
        ("NPUKIT_EMU_HBM_BYTES", "1000000", 5, "memory.npu-out-of-memory"),
        ("NPUKIT_EMU_WITHOUT", "aclnnEmbedding", 70, "operator.kernel-package"),
    ],
)
def test_a_fault_is_explained(
    setting: str, value: str, status: int, finding: str, npukit: Npukit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting, value)
    said = npukit("chat", MODEL, "--device", "npu", "--emulated", "--question", "Say hello.", "--json")
    assert said.status == status, said.err
    assert finding in {found["id"] for found in said.document["error"]["findings"]}
