"""Findings on terminals of 80 and 120 columns."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from npukit.cli.findings import CHINESE, SEVERITY_STYLE, wrapped, write_advice, write_findings
from npukit.knowledge import advise, explain
from npukit.knowledge.finding import CONFIDENCES, SEVERITIES

LOGS = Path(__file__).parents[2] / "fixtures" / "logs" / "failing"


def shown(name: str, width: int, lang: str) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    write_findings(console, explain((LOGS / f"{name}.txt").read_text(encoding="utf-8"), lang), lang)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_every_word_has_a_style_and_a_translation() -> None:
    assert set(SEVERITY_STYLE) == set(SEVERITIES)
    assert set(CHINESE) == {*SEVERITIES, *CONFIDENCES}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", [80, 120])
def test_prose_is_wrapped_and_commands_stay_whole(width: int, lang: str) -> None:
    text = shown("capture", width, lang)
    assert "vllm serve ... --compilation-config '{\"cudagraph_capture_sizes\": [1, 2, 4, 8]}'" in text
    prose = [line for line in text.splitlines() if not line.startswith("      ") and "http" not in line]
    assert max(cell_len(line.rstrip()) for line in prose) <= width


def test_a_comment_that_does_not_fit_stands_above() -> None:
    narrow = shown("autoload", 80, "en").splitlines()
    at = narrow.index("      source /usr/local/Ascend/ascend-toolkit/set_env.sh")
    assert narrow[at - 1].strip() == "# newer layout: /usr/local/Ascend/cann/set_env.sh"
    assert "set_env.sh   # newer layout" in shown("autoload", 120, "en")


def test_brackets_of_a_log_are_not_markup() -> None:
    assert "[rank0]" in shown("shards", 200, "en")


def test_advice_in_both_languages() -> None:
    for lang, word in (("en", "What to collect"), ("zh", "需要收集的信息")):
        console = Console(file=io.StringIO(), width=80)
        write_advice(console, advise("a.B: c\nFooError: [x] failed", lang), lang)
        assert word in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", [80, 120, 10_000])
def test_no_line_ends_in_blanks(width: int, lang: str) -> None:
    for name in ("capture", "shards"):
        assert not [line for line in shown(name, width, lang).splitlines() if line != line.rstrip()]


def test_what_is_only_noise_is_explained_all_the_same() -> None:
    console = Console(file=io.StringIO(), width=80, highlight=False)
    write_findings(console, explain("EZ9999"), "en")
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "why" in said and "do" in said and "not the cause:" not in said


@given(st.text(alphabet="ab ，。中文（）é", max_size=80), st.integers(4, 30))
def test_wrapping_loses_nothing_and_fits(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cell_len(line) <= width for line in lines)


def test_chinese_fills_its_lines_and_marks_stay() -> None:
    lines = wrapped("很可能是索引张量（token id、位置）的值", 12)
    assert lines == ["很可能是索引", "张量（token", "id、位置）的", "值"]
    assert wrapped("一二三，四", 6) == ["一二", "三，四"]
