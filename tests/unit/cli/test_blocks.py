from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npukit.cli.blocks import Blocks

LINES = st.lists(st.sampled_from(["text", "", "```", "```py", "~~~", "- item", "    "]), max_size=12)


@given(LINES.map("\n".join), st.integers(1, 7))
def test_nothing_is_lost_whatever_the_pieces(text: str, size: int) -> None:
    blocks, out = Blocks(), []
    for start in range(0, len(text), size):
        out.append(blocks.push(text[start : start + size]))
    assert "".join(out) + blocks.finish() == text
    assert blocks.open == ""


@given(LINES.map("\n".join), st.integers(1, 7))
def test_the_pieces_do_not_matter(text: str, size: int) -> None:
    blocks, whole = Blocks(), Blocks()
    pieces = "".join(blocks.push(text[start : start + size]) for start in range(0, len(text), size))
    assert pieces == whole.push(text)


def test_paragraphs_end_at_empty_lines_and_code_at_its_fence() -> None:
    blocks = Blocks()
    assert blocks.push("one\n\ntwo") == "one\n\n"
    assert blocks.push("\n\n```py\na\n\nb\n") == "two\n\n"
    assert blocks.open == "```py\na\n\nb\n"
    assert blocks.push("```\n\n") == "```py\na\n\nb\n```\n\n"
