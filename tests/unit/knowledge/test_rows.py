"""Every row is whole, is recognised from its samples, and not from its negatives."""

from __future__ import annotations

import re

import pytest

from npukit.knowledge import explain
from npukit.knowledge.finding import CONFIDENCES, ROLES, SEVERITIES
from npukit.knowledge.rows import Row, rows

WORD = re.compile(r"\{([a-z_]+)\}")
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def by_id(row: Row) -> str:
    return row.id


@pytest.mark.parametrize("row", rows(), ids=by_id)
def test_row_is_whole(row: Row) -> None:
    assert row.severity in SEVERITIES
    assert row.role in ROLES
    assert row.confidence in CONFIDENCES
    assert row.match or row.codes
    assert row.samples
    assert row.sources and all(url.startswith("https://") for url in row.sources)
    for texts in (row.title, row.cause, row.remedy):
        assert set(texts) == {"en", "zh"}
        assert texts["en"].strip() and not CHINESE.search(texts["en"])
        assert texts["zh"].strip()
    assert CHINESE.search(row.title["zh"] + row.cause["zh"])
    assert "\n" not in row.title["en"] + row.title["zh"]


@pytest.mark.parametrize("row", rows(), ids=by_id)
def test_quoted_words_are_always_found(row: Row) -> None:
    """A text may quote {word} only if every way to match the row finds that word."""
    quoted = {
        word
        for texts in (row.title, row.cause, row.remedy)
        for text in texts.values()
        for word in WORD.findall(text)
    }
    for pattern in row.match:
        assert quoted <= set(WORD.findall(pattern.text))
    assert not (quoted and row.codes)


@pytest.mark.parametrize("row", rows(), ids=by_id)
def test_samples_are_recognised(row: Row) -> None:
    for sample in row.samples:
        findings = {finding.id: finding for finding in explain(sample, "en")}
        assert row.id in findings, sample
        assert not WORD.search(findings[row.id].title)


@pytest.mark.parametrize("row", [row for row in rows() if row.negatives], ids=by_id)
def test_negatives_are_not(row: Row) -> None:
    for text in row.negatives:
        assert row.id not in {finding.id for finding in explain(text)}, text


def test_a_specific_row_stands_first_in_its_own_samples() -> None:
    """A row that is neither a family nor a repetition leads where nothing else is said."""
    for row in rows():
        if row.family or row.role != "cause" or row.severity in ("noise", "phantom"):
            continue
        for sample in row.samples:
            assert explain(sample)[0].id == row.id, sample


def test_texts_are_not_shared() -> None:
    """Two rows with one title would be one row."""
    titles = [row.title["en"] for row in rows()]
    assert len(titles) == len(set(titles))
