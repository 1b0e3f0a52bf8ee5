"""Question sets: reading, scores, and a paired difference with its standard error."""

from __future__ import annotations

import math
import statistics
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.checks.suites import suite_check
from npukit.errors import NpukitError
from npukit.suite import Question, difference, read_suite, score, to_json

GOOD = """
name = "capitals"
version = "1"
[[questions]]
id = "france"
text = "Capital of France?"
answers = ["Paris"]
[[questions]]
id = "snow"
text = "Snow is"
answers = [" white"]
choices = [" white", " green"]
score = "choice"
"""


def test_a_suite_is_read_and_scored(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(GOOD, "utf-8")
    suite = read_suite(path)
    assert [one.score for one in suite.questions] == ["keyword", "choice"]
    document = to_json(suite, [("It is PARIS.", "Rome"), ("white", "green")])
    assert [row["scores"] for row in document["questions"]] == [[1.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (('score = "choice"', 'score = "guess"'), "'guess' is none of"),
        (('answers = [" white"]', 'answers = ["blue"]'), "the answer is none of the choices"),
        (('id = "snow"', 'id = "france"'), "used twice"),
        (('answers = ["Paris"]', "answers = []"), "no answers"),
        (('name = "capitals"', 'nam = "capitals"'), "nam: no such key"),
    ],
)
def test_faults(edit: tuple[str, str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(GOOD.replace(*edit), "utf-8")
    with pytest.raises(NpukitError) as raised:
        read_suite(path)
    assert words in raised.value.message("en").what


def test_scores() -> None:
    assert score(Question("q", "?", ("cat", "two")), "Two dogs") == 0.5
    assert score(Question("q", "?", ("4",), "exact"), " 4\n") == 1
    assert score(Question("q", "?", ("4",), "exact"), "44") == 0


@pytest.mark.parametrize(
    ("said", "answers", "same"),
    [
        ("The cat sat on the warm mat.", "The cat sat on the warm mat.", True),
        ("天空是蓝色的，雪是白色的。", "天空是蓝色的，雪是白色的。", True),
        ("The cat lay on the warm mat.", "The cat sat on the warm mat.", False),
        ("天空是红色的，雪是白色的。", "天空是蓝色的，雪是白色的。", False),
    ],
)
def test_bleu(said: str, answers: str, same: bool) -> None:
    pytest.importorskip("sacrebleu")
    found = score(Question("q", "?", (answers,), "bleu"), said)
    assert found == pytest.approx(1) if same else 0.3 < found < 0.9
    assert score(Question("q", "?", (answers,), "bleu"), "zzz") < 0.05


def test_bleu_without_its_library_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    path = tmp_path / "s.toml"
    path.write_text(GOOD.replace('answers = ["Paris"]', 'answers = ["Paris"]\nscore = "bleu"'), "utf-8")
    with pytest.raises(NpukitError) as raised:
        read_suite(path)
    assert raised.value.code == "suite.no-bleu"
    assert "npukit[eval]" in raised.value.message("en").remedy


shares = st.floats(0, 1)


@given(st.lists(st.tuples(shares, shares), min_size=2, max_size=30))
def test_the_difference_is_paired(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = zip(*pairs, strict=True)
    found = difference(ours, theirs)
    apart = [a - b for a, b in pairs]
    assert found.difference == pytest.approx(statistics.fmean(apart), abs=1e-12)
    assert found.difference == pytest.approx(found.candidate - found.reference, abs=1e-12)
    variance = sum((one - found.difference) ** 2 for one in apart) / (len(apart) - 1)
    assert found.standard_error == pytest.approx(math.sqrt(variance / len(apart)), abs=1e-12)


def suite(*scores: tuple[float, float]) -> dict[str, object]:
    rows = [{"id": str(n), "scores": list(pair)} for n, pair in enumerate(scores)]
    return {"name": "s", "version": "1", "questions": rows}


def test_the_check() -> None:
    assert suite_check(None).passed is None
    assert suite_check(suite((1, 1), (0, 0))).passed is True
    assert suite_check(suite((1, 0), (0, 1), (1, 1))).passed is True  # chance
    check = suite_check(suite(*[(0, 1)] * 5))
    assert check.passed is False
    assert check.cause and check.remedy
    assert suite_check(suite((0, 1))).passed is False
