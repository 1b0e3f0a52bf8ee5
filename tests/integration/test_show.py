"""What show tells, and what prune removes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.conftest import MODEL, Npukit


@pytest.fixture(autouse=True)
def home(home_after_run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NPUKIT_HOME", str(home_after_run))
    return home_after_run


def edited(path: Path, **changes: object) -> Path:
    """A second result beside ``path``, older by what ``changes`` say."""
    record = {**json.loads(path.read_text()), **changes}
    other = path.with_name(f"{record['key']}.json")
    other.write_text(json.dumps(record))
    return other


def test_every_stage_is_current_after_a_run_with_rounds_of_its_own(npukit: Npukit) -> None:
    said = npukit("show", MODEL, "--device", "cpu", "--json").document
    assert [(row["stage"], row["verdict"], row["current"]) for row in said["stages"]] == [
        (stage, "pass", True) for stage in ("fetch", "patch", "verify", "accuracy", "bench")
    ]
    assert said["bytes"]["results"] > 0
    assert said["bytes"]["captures"] > 0


def test_a_stale_result_says_why(npukit: Npukit, home: Path) -> None:
    (path,) = home.glob("results/*/cpu/bench/*.json")
    inputs = {**json.loads(path.read_text())["inputs"], "environment.torch": "1.0"}
    edited(path, key="cd" * 32, inputs=inputs)
    path.unlink()
    (row,) = npukit("show", MODEL, "bench", "--device", "cpu", "--json").document["stages"]
    assert not row["current"]
    assert any(why.startswith("environment.torch 1.0 → ") for why in row["why"])
    assert row["verdict"] == "pass"


def test_a_result_of_another_version_is_named_and_not_read(npukit: Npukit, home: Path) -> None:
    (path,) = home.glob("results/*/cpu/verify/*.json")
    inputs = {**json.loads(path.read_text())["inputs"], "stage": "verify/0"}
    edited(path, key="cd" * 32, inputs=inputs, measured={})
    path.unlink()
    (row,) = npukit("show", MODEL, "verify", "--device", "cpu", "--json").document["stages"]
    assert row["verdict"] is None
    assert any(why.startswith("stage verify/0 → verify/") for why in row["why"])


def test_history_tells_what_changed(npukit: Npukit, home: Path) -> None:
    (path,) = home.glob("results/*/cpu/bench/*.json")
    record = json.loads(path.read_text())
    edited(
        path, key="cd" * 32, started="2020-01-01T00:00:00+00:00", inputs={**record["inputs"], "rounds": "99"}
    )
    first, second = npukit("show", MODEL, "bench", "--history", "--device", "cpu", "--json").document[
        "results"
    ]
    assert first["started"].startswith("2020")
    assert first["changed"] == []
    assert second["changed"] == ["rounds 99 → 3"]


def test_prune_lists_first_and_removes_what_is_superseded(npukit: Npukit, home: Path) -> None:
    (path,) = home.glob("results/*/cpu/bench/*.json")
    old = edited(path, key="cd" * 32, started="2020-01-01T00:00:00+00:00")
    listed = npukit("show", MODEL, "--prune", "--json").document
    assert [row["path"] for row in listed["files"]] == [str(old)]
    assert old.exists()
    assert npukit("show", MODEL, "--prune", "--yes").status == 0
    assert not old.exists()
    assert path.exists()


def test_without_a_model_everything_is_listed_with_sizes(npukit: Npukit) -> None:
    said = npukit("show", "--json").document
    assert {row["stage"] for row in said["results"]} == {"fetch", "patch", "verify", "accuracy", "bench"}
    assert said["bytes"]["results"] > 0
    human = npukit("show", "--lang", "zh")
    assert "距今" in human.out


def test_an_empty_home_says_what_to_do(
    npukit: Npukit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUKIT_HOME", str(tmp_path / "empty"))
    assert "npukit run tiny-minicpm-v" in npukit("show").out


def test_a_model_that_was_never_run_is_shown_as_such(
    npukit: Npukit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUKIT_HOME", str(tmp_path / "empty"))
    said = npukit("show", MODEL, "--device", "cpu", "--json")
    assert said.status == 0, said.err
    assert {(row["verdict"], *row["why"]) for row in said.document["stages"]} == {(None, "never measured")}
