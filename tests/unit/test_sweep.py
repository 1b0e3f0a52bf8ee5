"""Lists of conditions become cases, each once; what is no value is refused with what would be one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.errors import NpukitError
from npukit.results import StageResult
from npukit.sweep import Case, cases, row
from tests.unit.test_performance import measured

counts = st.lists(st.integers(2, 9), min_size=1, max_size=5)


def test_nothing_asked_is_one_case_as_the_recipe_says() -> None:
    assert cases() == [Case()]


@given(counts, counts)
def test_every_combination_once(batches: list[int], tokens: list[int]) -> None:
    found = cases(batch=",".join(map(str, batches)), new_tokens=" , ".join(map(str, tokens)))
    assert len(found) == len(set(found)) == len(set(batches)) * len(set(tokens))
    assert {(case.batch, case.new_tokens) for case in found} == {(b, t) for b in batches for t in tokens}


def test_short_and_long_names_of_a_dtype_are_one() -> None:
    assert [case.dtype for case in cases(dtype="bf16,float32,bfloat16")] == ["bfloat16", "float32"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "float31"},
        {"dtype": "float32,"},
        {"batch": "0"},
        {"batch": "two"},
        {"prompt_tokens": "0"},
        {"new_tokens": "1"},
        {"downsample": "8x"},
        {"device": ""},
    ],
)
def test_what_is_no_value(wrong: dict[str, Any]) -> None:
    with pytest.raises(NpukitError) as raised:
        cases(**wrong)
    assert raised.value.code == "bench.wrong-list"


def test_a_row_holds_three_numbers_of_memory_and_the_hosts() -> None:
    memory = {"peak_reserved_bytes": 3, "used_bytes": 4, "host_rss_bytes": 5}
    phases = {
        "loaded": {**memory, "peak_allocated_bytes": 2},
        "rounds": {**memory, "peak_allocated_bytes": 1},
    }
    given_ = measured(memory=phases, conditions={"batch": 2})
    seen = row(StageResult("bench", "m", "npu:0", "k", {}, {}, given_, "", 1.0, "0"), None)
    assert seen.tokens_per_s == pytest.approx(2 * 11 / 0.2)
    assert seen.decode_tokens_per_s == pytest.approx(200)
    assert (seen.peak_allocated_bytes, seen.peak_reserved_bytes) == (2, 3)
    assert (seen.used_bytes, seen.host_rss_bytes, seen.relative_l2) == (4, 5, None)
