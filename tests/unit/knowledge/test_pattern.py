from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.knowledge.pattern import GAP_BYTES, Pattern


def found(pattern: str, line: str) -> dict[str, str] | None:
    data = line.encode()
    hit = Pattern.parse(pattern).search(data.lower(), 0, len(data))
    return (
        None if hit is None else {word: data[start:end].decode() for word, (start, end) in hit.words.items()}
    )


def test_literal_text_in_any_case() -> None:
    assert found("NPU out of memory", "RuntimeError: npu OUT of memory.") == {}
    assert found("NPU out of memory", "NPU out of  memory") is None


def test_star_is_text_of_one_line_and_bounded() -> None:
    assert found("libatb.so*cannot open", "libatb.so.1: cannot open shared") == {}
    assert found("libatb.so*cannot open", "cannot open libatb.so") is None
    assert found("libatb.so*cannot open", "libatb.so" + "x" * (GAP_BYTES + 1) + "cannot open") is None
    assert found("libatb.so*cannot open", "libatb.so" + "x" * GAP_BYTES * 2 + " libatb.so: cannot open") == {}


def test_words_are_captured_as_written() -> None:
    assert found("lib{name}.so*: cannot open", "OSError: libFoo_1.so.2: cannot open") == {"name": "Foo_1"}
    assert found("operator '{op}' is not", "operator 'aten::isin.out' is not") == {"op": "aten::isin.out"}
    assert found("operator '{op}' is not", "operator 'two words' is not") is None


@pytest.mark.parametrize(
    "text", ["*", "a*b", "{a}{b} nothing", "{a} and {b}", "abc", "long enough*", "lib{a}"]
)
def test_poor_patterns_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        Pattern.parse(text)


@given(st.text(alphabet="ab :*{}", max_size=30), st.text(alphabet="abAB :", max_size=60))
def test_the_needle_is_on_every_line_that_matches(pattern: str, line: str) -> None:
    try:
        parsed = Pattern.parse(pattern)
    except ValueError:
        return
    data = line.lower().encode()
    if parsed.search(data, 0, len(data)):
        assert parsed.needle in data


def test_time_grows_with_the_line_only() -> None:
    """What makes backtracking expressions explode: many beginnings, no end."""
    pattern = Pattern.parse("lib{name}.so*undefined*symbol: {symbol}!*end of it")

    def seconds(repeats: int) -> float:
        data = b"libx.so undefined symbol: y" * repeats
        start = time.perf_counter()
        assert pattern.search(data, 0, len(data)) is None
        return time.perf_counter() - start

    seconds(100)
    assert seconds(8000) < 100 * max(seconds(800), 1e-3)
