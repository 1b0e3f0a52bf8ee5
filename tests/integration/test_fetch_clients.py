"""Every supported huggingface_hub serves `npukit fetch`: the oldest, transformers 4's, and 1.x."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.hub_mirror import Faults, serving

ROOT = Path(__file__).parents[2]
REPO = "owner/name"
# what each needs beside what every environment of npukit has
CLIENTS = {
    "0.26.0": ("huggingface_hub==0.26.0",),
    "0.36.2": ("huggingface_hub==0.36.2",),  # the last before 1.0, as transformers 4.57.6 wants it
    "1.5.0": ("huggingface_hub==1.5.0", "httpx", "httpcore", "h11", "typer-slim", "shellingham"),
}


@pytest.mark.slow
@pytest.mark.parametrize("version", CLIENTS)
def test_a_killed_fetch_goes_on_whatever_the_client(version: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site)]
    subprocess.run([*pip, *CLIENTS[version]], check=True)
    model = tmp_path / "hub" / REPO
    model.mkdir(parents=True)
    size = 12 << 20
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    content = struct.pack("<Q", len(header)) + header + random.Random(1).randbytes(size)
    (model / "model.safetensors").write_bytes(content)
    (model / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    with serving(tmp_path / "hub", Faults(slow={"model.safetensors": 2 << 20})) as mirror:
        names = ("HOME", "HF_HOME", "XDG_CACHE_HOME", "NPUKIT_HOME")
        environment = {
            **os.environ,
            **{name: str(tmp_path / name.lower()) for name in names},
            "HF_ENDPOINT": mirror.url,
            "PYTHONPATH": f"{site}{os.pathsep}{ROOT}",
        }
        used = [sys.executable, "-c", "import huggingface_hub; print(huggingface_hub.__version__)"]
        said = subprocess.run(used, env=environment, capture_output=True, text=True, check=True)
        assert said.stdout.strip() == version
        command = [sys.executable, "-m", "npukit", "fetch", f"hf:{REPO}"]
        first = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
        parts = tmp_path / "npukit_home" / "models" / "owner--name" / "parts"
        while not any(part.stat().st_size > 1 << 20 for part in parts.glob("model.*")):
            assert first.poll() is None, first.stderr and first.stderr.read()
        first.send_signal(signal.SIGKILL)
        first.communicate()
        had = next(parts.glob("model.*")).stat().st_size
        mirror.faults.slow.clear()
        mirror.served.clear()
        second = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert second.returncode == 0, second.stderr
        assert "resumed" in second.stderr
        assert mirror.served["model.safetensors"] <= len(content) - had + (1 << 20)
    kept = tmp_path / "npukit_home" / "models" / "owner--name" / "files" / "model.safetensors"
    assert kept.read_bytes() == content
