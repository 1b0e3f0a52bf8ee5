"""Logs of things that went well, or wrong in ways that have nothing to do with Ascend, give no finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukit.knowledge import advise, explain, read_log

ORDINARY = sorted((Path(__file__).parents[2] / "fixtures" / "logs" / "ordinary").glob("*.txt"))


@pytest.mark.parametrize("path", ORDINARY, ids=lambda path: path.stem)
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["unix", "windows"])
def test_no_false_finding(path: Path, ending: str) -> None:
    data = path.read_bytes().replace(b"\n", ending.encode())
    assert [(finding.id, finding.excerpt) for finding in explain(read_log(data))] == []


def test_there_are_ordinary_logs() -> None:
    assert len(ORDINARY) >= 10


def test_a_calm_log_is_told_from_an_unknown_failure() -> None:
    calm = advise("Successfully installed torch-2.9.0\n")
    assert calm.suspects == () and calm.collect == ()
    unknown = advise(
        "Traceback (most recent call last):\n  File 'a.py'\nshop.errors.PriceError: no price\n", "zh"
    )
    assert unknown.suspects[0].line == 3
    assert unknown.collect
    assert unknown.what != calm.what


def test_the_first_and_the_last_suspects_are_kept() -> None:
    text = "\n".join(f"ValueError: number {number}" for number in range(50))
    assert [suspect.line for suspect in advise(text).suspects] == [1, 49, 50]
