"""Fingerprints: the same inputs have the same key, others have another, and the difference has words."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from npukit.fingerprint import canonical, differences, digest, named

values = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=10) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
inputs = st.dictionaries(st.text(min_size=1, max_size=10), values, max_size=5)


@given(inputs)
def test_order_does_not_matter(table: dict[str, object]) -> None:
    turned = dict(reversed(table.items()))
    assert digest(named(table)) == digest(named(turned))
    assert not differences(named(table), named(turned))


@given(inputs, inputs)
def test_a_difference_has_words_exactly_when_the_keys_differ(
    one: dict[str, object], other: dict[str, object]
) -> None:
    a, b = named(one), named(other)
    assert (digest(a) == digest(b)) == (not differences(a, b))


@given(values)
def test_canonical_text_reads_back(value: object) -> None:
    assert json.loads(canonical(value)) == value


def test_words() -> None:
    before = {"cann": "8.1", "gone": "x", "same": "1", "long": "a" * 64}
    now = {"cann": "8.2", "new": "y", "same": "1", "long": "b" * 64}
    assert differences(before, now) == [
        "cann 8.1 → 8.2",
        "gone x is gone",
        "long aaaaaaaaaaaa… → bbbbbbbbbbbb…",
        "new y is new",
    ]


def test_named_inputs_are_flat_and_leave_nothing_out_but_none() -> None:
    assert named({"load": {"dtype": "float32", "seed": None}, "n": 3, "b": False}) == {
        "b": "false",
        "load.dtype": "float32",
        "n": "3",
    }
