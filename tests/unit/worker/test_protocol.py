"""Messages survive the wire, numbers that JSON lacks included."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.worker.protocol import decode, encode

messages = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=12,
    ),
    max_size=5,
)


@given(messages)
def test_one_message_is_one_line_and_comes_back(message: dict[str, object]) -> None:
    line = encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == message


@given(st.floats())
def test_floats_come_back_through_float(number: float) -> None:
    back = float(decode(encode({"rows": [{"x": number}]}))["rows"][0]["x"])
    assert back == number or (math.isnan(back) and math.isnan(number))


@pytest.mark.parametrize("line", [b"", b"[]", b"3", b'{"a": '])
def test_what_is_no_message(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode(line)
