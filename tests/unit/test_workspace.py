"""Records are whole or absent; what cannot be read is a miss."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.errors import NpukitError
from npukit.results import Check, Judged, StageResult
from npukit.workspace import Workspace, building, home, read_json, write_atomic, write_json


def record(key: str = "k1", started: str = "2026-01-01T00:00:00+00:00", device: str = "npu:0") -> StageResult:
    return StageResult(
        "verify", "m", device, key, {"a": "1"}, {"torch": "2"}, {"x": [1]}, started, 1.5, "0.1.0"
    )


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    path = workspace.save(record())
    assert workspace.load(path) == record()
    found = workspace.find("m", "npu:0", "verify", "k1")
    assert found is not None
    assert found[0] == record()
    assert workspace.find("m", "npu:1", "verify", "k1") is None


def test_a_record_under_another_key_is_not_taken(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    path = workspace.save(record("k1"))
    path.rename(path.with_name("k2.json"))
    assert workspace.find("m", "npu:0", "verify", "k2") is None


def test_the_latest(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.latest("m", "npu:0", "verify") is None
    workspace.save(record("new", "2026-02-01T00:00:00+00:00"))
    workspace.save(record("old"))
    workspace.save(record("other", "2026-03-01T00:00:00+00:00", device="cpu"))
    latest = workspace.latest("m", "npu:0", "verify")
    assert latest is not None
    assert latest[0].key == "new"
    assert [result.key for result, _ in workspace.results()] == ["old", "new", "other"]


@given(st.integers(min_value=0))
def test_a_torn_record_is_a_miss(cut: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        workspace = Workspace(Path(directory))
        path = workspace.save(record())
        whole = path.read_bytes().rstrip()
        path.write_bytes(whole[: cut % len(whole)])
        assert workspace.load(path) is None


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(NpukitError) as caught:
        write_atomic(path, b"new")
    assert caught.value.code == "workspace.unwritable"
    assert "No space left" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_files_have_the_rights_that_the_user_gives(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_atomic(tmp_path / "file", b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


def test_a_directory_is_whole_or_absent(tmp_path: Path) -> None:
    target = tmp_path / "box"
    with pytest.raises(RuntimeError), building(target) as partial:
        (partial / "half").write_text("x", encoding="utf-8")
        raise RuntimeError
    assert not list(tmp_path.iterdir())
    for content in ("one", "two"):
        with building(target) as partial:
            (partial / "whole").write_text(content, encoding="utf-8")
        assert [path.name for path in tmp_path.iterdir()] == ["box"]
        assert (target / "whole").read_text(encoding="utf-8") == content


def test_state(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.last_model() == ""
    workspace.remember("m")
    assert workspace.last_model() == "m"
    (tmp_path / "state.json").write_text('{"model": 3}', encoding="utf-8")
    assert workspace.last_model() == ""


def test_json_without_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    assert read_json(tmp_path / "x.json") is None


def test_where_home_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NPUKIT_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert home() == tmp_path / "npukit"


def test_a_judged_record_passes_unless_a_check_fails() -> None:
    def judged(*verdicts: bool | None) -> Judged:
        return Judged(record(), tuple(Check(str(i), v, "e", "o") for i, v in enumerate(verdicts)))

    assert judged(True, None).passed
    assert not judged(True, False).passed
    assert [check.id for check in judged(True, False).failed] == ["1"]
    assert [check["verdict"] for check in judged(True, False, None).to_json()["checks"]] == [
        "pass",
        "fail",
        "skip",
    ]
