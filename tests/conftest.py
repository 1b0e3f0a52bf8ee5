"""Every test has its own $NPUKIT_HOME and knows nothing of the caller's settings."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

OWN = ("NPUKIT_", "ASCEND_", "HF_", "MODELSCOPE_", "CUDA_VISIBLE", "LC_", "LANG")


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(OWN):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NPUKIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LANG", "C.UTF-8")


def pytest_configure(config: pytest.Config) -> None:
    """A shell starts background jobs with SIGINT ignored, which is inherited; tests send it to children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header(config: pytest.Config) -> str:
    from tests.device.found import found_devices

    return f"devices found: {', '.join(found_devices())} (others' tests are skipped)"
