from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npukit.textstream import PATIENCE_TOKENS, TextStream, overlap, until_stop


def decode(tokens: list[int]) -> str:
    """Tokens are bytes, as in a byte-level vocabulary: characters are made of several."""
    return bytes(tokens).decode("utf-8", "replace")


def pieces(text: str, stops: tuple[str, ...] = ()) -> tuple[list[str], TextStream]:
    stream = TextStream(decode, stops)
    out = []
    for byte in text.encode():
        out.append(stream.push([byte]))
        if stream.stopped:
            break
    return [*out, stream.finish()], stream


@given(st.text(st.characters(exclude_characters="\ufffd", exclude_categories=["Cs"])))
def test_every_piece_is_whole_and_together_they_are_the_text(text: str) -> None:
    out, _ = pieces(text)
    assert "".join(out) == text
    assert not any("\ufffd" in piece for piece in out)


@given(
    st.text("abc你", max_size=30),
    st.lists(st.text("abc你", min_size=1, max_size=4), max_size=3).map(tuple),
)
def test_a_stop_text_never_shows_and_ends_the_answer(text: str, stops: tuple[str, ...]) -> None:
    out, stream = pieces(text, stops)
    completed = [text.find(stop) + len(stop) for stop in stops if stop in text]
    seen = text[: min(completed, default=len(text))]  # generation ends there
    assert "".join(out) == until_stop(seen, stops)
    assert stream.stopped == (until_stop(text, stops) != text)


def test_bytes_that_never_make_a_character_are_shown_at_last() -> None:
    stream = TextStream(decode)
    shown = [stream.push([0xFF]) for _ in range(PATIENCE_TOKENS)]
    assert shown[:-1] == [""] * (PATIENCE_TOKENS - 1)
    assert shown[-1] == "\ufffd" * PATIENCE_TOKENS


def test_the_cost_of_a_token_does_not_grow() -> None:
    seen = []

    def counting(tokens: list[int]) -> str:
        seen.append(len(tokens))
        return decode(tokens)

    stream = TextStream(counting)
    for byte in b"x" * 500:
        stream.push([byte])
    assert max(seen) <= 2


def test_overlap_is_the_longest_beginning_at_the_end() -> None:
    assert overlap("see </th", "</think>") == 4
    assert overlap("aab", "aabaab") == 3
    assert overlap("stop", "stop") == 0  # a whole one is found, not held
    assert overlap("", "stop") == 0
