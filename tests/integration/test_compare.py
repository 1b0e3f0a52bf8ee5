"""compare over reports and homes, and its exit status for CI; run over several models."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from tests.integration.conftest import MODEL, Npukit


@pytest.fixture
def sides(finished_home: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A report, and a copy of it to change."""
    shutil.copytree(finished_home / "report", tmp_path / "after")
    return finished_home / "report", tmp_path / "after"


def test_a_report_is_not_worse_than_itself_or_its_home(
    npukit: Npukit, sides: tuple[Path, Path], finished_home: Path
) -> None:
    said = npukit("compare", *sides, "--json")
    assert said.status == 0, said.err
    assert [stage["stage"] for stage in said.document["stages"]] == [
        "fetch",
        "patch",
        "verify",
        "accuracy",
        "bench",
    ]
    assert npukit("compare", sides[0], finished_home / "home").status == 0


def test_a_larger_error_fails_and_is_shown(npukit: Npukit, sides: tuple[Path, Path]) -> None:
    path = sides[1] / "results.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    (accuracy,) = (row for row in rows if row["stage"] == "accuracy")
    accuracy["measured"]["prompts"][0]["total"]["relative_l2"] *= 2
    path.write_text(json.dumps(rows), encoding="utf-8")
    said = npukit("compare", *sides, "--lang", "en")
    assert said.status == 1
    assert "+100.0%" in said.out
    assert "worse beyond the limit" in said.out
    assert npukit("compare", *sides, "--limit", "2").status == 0
    assert npukit("compare", *reversed(sides)).status == 0


def test_what_cannot_be_compared_is_an_error(
    npukit: Npukit, sides: tuple[Path, Path], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    torn = tmp_path / "torn.json"
    torn.write_text("{")
    one = tmp_path / "one.json"
    rows = json.loads((sides[0] / "results.json").read_text(encoding="utf-8"))
    one.write_text(json.dumps([{**rows[0], "model": "other"}]))
    for path, code in (
        (empty, "results.none"),
        (torn, "results.unreadable"),
        (one, "results.nothing-shared"),
    ):
        said = npukit("compare", sides[0], path, "--json")
        assert said.status == 2
        assert said.document["error"]["code"] == code


def test_several_models_give_one_table_and_the_worst_status(
    npukit: Npukit, home_after_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUKIT_HOME", str(home_after_run))
    junit, summary = tmp_path / "junit.xml", tmp_path / "summary.md"
    summary.write_text("before\n")
    said = npukit(
        "run", MODEL, "no-such-model", "--device", "cpu", "--rounds", 3, "--warmup", 1,
        "--out", tmp_path / "out", "--junit", junit, "--summary", summary, "--json",
    )  # fmt: skip
    assert said.status == 2
    first, second = said.document["models"]
    assert (first["passed"], second["error"]["code"]) == (True, "recipe.unlike")
    assert (tmp_path / "out" / MODEL / "README.md").is_file()
    suites = xml.parse(junit).getroot().findall("testsuite")
    assert [suite.get("name") for suite in suites] == [
        *(f"{MODEL}.{stage}" for stage in ("fetch", "patch", "verify", "accuracy", "bench")), "no-such-model",
    ]  # fmt: skip
    assert summary.read_text().startswith("before\n| model")


def test_a_directory_of_recipes_is_a_matrix(
    npukit: Npukit, home_after_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUKIT_HOME", str(home_after_run))
    directory = tmp_path / "recipes"
    directory.mkdir()
    npukit("recipes", "copy", MODEL, directory / f"{MODEL}.toml")
    (directory / "broken.toml").write_text("schema = 1\n")
    said = npukit(
        "run", f"{directory}/", "--only", "fetch", "--device", "cpu", "--out", tmp_path / "out", "--json"
    )
    assert {row["model"].rpartition("/")[2] for row in said.document["models"]} == {MODEL, "broken.toml"}
