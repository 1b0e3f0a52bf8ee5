import pytest

from npukit.builtin.drawings import Scene
from npukit.builtin.questions import (
    HOW_MANY,
    HOW_MANY_ANIMALS,
    WHAT_AND_HOW_MANY,
    WHAT_COLOUR,
    answer,
    answer_about_each,
)


@pytest.mark.parametrize(
    ("question", "scene", "expected"),
    [
        (WHAT_AND_HOW_MANY, Scene("cat", 2, "orange"), "two cats"),
        (WHAT_AND_HOW_MANY, Scene("dog", 1, "red"), "one dog"),
        (HOW_MANY_ANIMALS, Scene("dog", 4, "red"), "four"),
        (HOW_MANY_ANIMALS, Scene("circle", 3, "blue"), "none"),
        (HOW_MANY, Scene("circle", 3, "blue"), "three"),
        (WHAT_COLOUR, Scene("cat", 2, "white"), "white"),
    ],
)
def test_the_right_answer(question: str, scene: Scene, expected: str) -> None:
    assert answer(question, scene) == expected


def test_the_right_answer_about_two_pictures() -> None:
    assert answer_about_each([Scene("cat", 2, "red"), Scene("dog", 1, "red")]) == "two cats, one dog"


def test_another_question_has_no_right_answer() -> None:
    with pytest.raises(ValueError, match="not a question"):
        answer("Who are you?", Scene("cat", 2, "red"))
