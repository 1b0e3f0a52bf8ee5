"""A model's own code runs only as the files that were agreed to."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukit.errors import NpukitError
from npukit.remote_code import code_files, require


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "modeling_x.py").write_text("x = 1\n")
    (source / "inner" / "more.py").write_text("y = 1\n")
    return source


def code(source: Path, home: Path, **options: object) -> str:
    with pytest.raises(NpukitError) as caught:
        require(source, options.pop("pins", {}), home, **options)  # type: ignore[arg-type]
    assert caught.value.message().remedy
    return f"{caught.value.code}\n{caught.value.message('zh').cause}"


def test_nothing_runs_before_someone_agreed_and_the_files_are_shown(source: Path, tmp_path: Path) -> None:
    said = code(source, tmp_path)
    assert said.startswith("remote-code.refused")
    for path, sha256 in code_files(source).items():
        assert f"{sha256}  {path}" in said


def test_agreed_once_holds_until_a_file_changes(source: Path, tmp_path: Path) -> None:
    files = require(source, {}, tmp_path, agree=True)
    assert sorted(files) == ["inner/more.py", "modeling_x.py"]
    assert require(source, {}, tmp_path) == files
    (source / "inner" / "more.py").write_text("y = 2\n")
    assert code(source, tmp_path).startswith("remote-code.changed\ninner/more.py is ")
    require(source, {}, tmp_path, agree=True)
    (source / "added.py").write_text("")
    assert "added.py is new" in code(source, tmp_path)


def test_pinned_files_and_no_others_can_be_agreed_to(source: Path, tmp_path: Path) -> None:
    pins = code_files(source)
    assert require(source, pins, tmp_path, agree=True) == pins
    (source / "modeling_x.py").write_text("import os\n")
    assert code(source, tmp_path, pins=pins, agree=True).startswith("remote-code.pinned\nmodeling_x.py is ")
    (source / "modeling_x.py").unlink()
    assert "modeling_x.py is gone" in code(source, tmp_path, pins=pins, agree=True)
