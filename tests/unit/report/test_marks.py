"""What a person wrote outside the marks survives whatever npukit writes between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.errors import NpukitError
from npukit.report.marks import Block, compose, plain

FRONT = Block("front", "license: mit", yaml=True)
WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=40).filter(
    lambda text: "npukit:" not in text and not text.startswith(("---", "#"))
)


def blocks(text: str) -> list[Block]:
    return [Block("one", f"# One {text}"), Block("two", f"# Two {text}")]


def test_a_new_document_holds_every_block_in_order() -> None:
    text = compose(blocks("a"), FRONT, None, "README.md")
    assert text.startswith("---\n# npukit:begin front\nlicense: mit\n# npukit:end front\n---\n\n")
    assert text.index("One a") < text.index("Two a")


@given(WORDS, WORDS, WORDS)
def test_text_outside_the_marks_stays(before: str, between: str, after: str) -> None:
    first = compose(blocks("a"), None, None, "README.md")
    mark = "<!-- npukit:begin two"
    own = f"{before}\n{first.replace(mark, f'{between}{chr(10)}{mark}')}{after}\n"
    again = compose(blocks("b"), None, own, "README.md")
    assert again == own.replace("One a", "One b").replace("Two a", "Two b")


def test_writing_twice_changes_nothing() -> None:
    once = compose(blocks("a"), FRONT, None, "README.md")
    assert compose(blocks("a"), FRONT, once, "README.md") == once


def test_keys_added_to_the_front_matter_stay() -> None:
    once = compose(blocks("a"), FRONT, None, "README.md")
    own = once.replace("# npukit:end front\n", "# npukit:end front\nmine: yes\n")
    again = compose(blocks("a"), Block("front", "license: apache-2.0", yaml=True), own, "README.md")
    assert again == own.replace("license: mit", "license: apache-2.0")


def test_a_block_that_is_new_follows_its_predecessor_and_one_that_is_gone_leaves() -> None:
    old = (
        compose([Block("one", "1"), Block("gone", "x"), Block("three", "3")], None, None, "README.md")
        + "mine\n"
    )
    text = compose([Block("one", "1"), Block("two", "2"), Block("three", "3")], None, old, "README.md")
    assert "gone" not in text
    places = [text.index(f"begin {name}") for name in ("one", "two", "three")]
    assert places == sorted(places)
    assert text.endswith("mine\n")


def test_a_document_without_marks_is_not_overwritten() -> None:
    with pytest.raises(NpukitError) as raised:
        compose(blocks("a"), None, "# Mine\n", "README.md")
    assert raised.value.code == "report.foreign"


@pytest.mark.parametrize(
    "damage", [("<!-- npukit:end one -->\n", ""), ("npukit:begin two", "npukit:begin one")]
)
def test_marks_that_do_not_pair_are_an_error(damage: tuple[str, str]) -> None:
    old = compose(blocks("a"), None, None, "README.md").replace(*damage)
    with pytest.raises(NpukitError) as raised:
        compose(blocks("a"), None, old, "README.md")
    assert raised.value.code == "report.marks"


def test_plain_is_free_of_marks_and_front_matter() -> None:
    text = plain(compose(blocks("a"), FRONT, None, "README.md"))
    assert "npukit:" not in text
    assert "license" not in text
    assert "# One a" in text
