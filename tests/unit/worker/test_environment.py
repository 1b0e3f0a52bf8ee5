"""The worker's environment: prepended to, never replaced, and free of what makes CANN fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npukit.worker.environment import worker_environment


def test_python_path_is_prepended_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/cann/python/site-packages")
    paths = worker_environment(tmp_path / "box", tmp_path)["PYTHONPATH"].split(os.pathsep)
    assert paths[:2] == [str(tmp_path / "box"), "/cann/python/site-packages"]


def test_the_hubs_are_never_asked(tmp_path: Path) -> None:
    environment = worker_environment(None, tmp_path)
    assert environment["HF_HUB_OFFLINE"] == environment["TRANSFORMERS_OFFLINE"] == "1"


def test_a_cache_path_that_does_not_exist_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_CACHE_PATH", str(tmp_path / "none"))
    assert "ASCEND_CACHE_PATH" not in worker_environment(None, tmp_path)
    monkeypatch.setenv("ASCEND_CACHE_PATH", str(tmp_path))
    assert worker_environment(None, tmp_path)["ASCEND_CACHE_PATH"] == str(tmp_path)


def test_what_the_user_set_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", "/mine")
    assert worker_environment(None, tmp_path, extra={"A": "1"})["ASCEND_PROCESS_LOG_PATH"] == "/mine"
    assert worker_environment(None, tmp_path, extra={"A": "1"})["A"] == "1"
