from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npukit.thinking import Thinking, split


@given(st.data(), st.text("ab<>/ \n", max_size=20), st.text("xy<>", min_size=1, max_size=20))
def test_pieces_of_any_size_split_the_same(data: st.DataObject, reasoning: str, answer: str) -> None:
    text = f"<think>{reasoning}</think>\n\n{answer}"
    thinking = Thinking()
    shown = ["", ""]
    while text:
        size = data.draw(st.integers(1, len(text)))
        for index, part in enumerate(thinking.push(text[:size])):
            shown[index] += part
        text = text[size:]
    for index, part in enumerate(thinking.finish()):
        shown[index] += part
    assert shown == [thinking.reasoning, thinking.answer] == [reasoning, answer]


def test_a_plain_answer_is_an_answer() -> None:
    assert split("The <think> tag") == ("", "The <think> tag")
    assert split("<thin") == ("", "<thin")
    assert split("") == ("", "")


def test_reasoning_that_was_cut_short_is_no_answer() -> None:
    assert split("<think>\nlet me see") == ("let me see", "")
    assert split("  <think>\nyes\n</think>\n\nParis") == ("yes", "Paris")
