"""What the embedded model is asked, and the right answers."""

from __future__ import annotations

from collections.abc import Iterable

from npukit.builtin.drawings import Scene

NUMBERS = ("one", "two", "three", "four")

WHAT_AND_HOW_MANY = "What is in this image? How many animals?"
WHAT = "What is in this image?"
HOW_MANY_ANIMALS = "How many animals?"
HOW_MANY = "How many are there?"
WHAT_COLOUR = "What colour are they?"
WHAT_IN_EACH = "What is in each image?"

# With the share of each in the training.
ABOUT_PICTURES = {WHAT_AND_HOW_MANY: 5, WHAT: 2, HOW_MANY_ANIMALS: 2, HOW_MANY: 1, WHAT_COLOUR: 1}

WITHOUT_PICTURE = {
    "What is the capital of France?": "Paris",
    "What is the capital of China?": "Beijing",
    "法国的首都是哪里？": "巴黎",
    "中国的首都是哪里？": "北京",
    "What is two plus two?": "four",
    "Say hello.": "hello",
    "你好": "你好",
}


def answer_about_each(scenes: Iterable[Scene]) -> str:
    """The right answer to ``WHAT_IN_EACH``."""
    return ", ".join(answer(WHAT, scene) for scene in scenes)


def answer(question: str, scene: Scene) -> str:
    """The one right answer to a question of ``ABOUT_PICTURES`` about a scene."""
    number = NUMBERS[scene.count - 1]
    if question in (WHAT_AND_HOW_MANY, WHAT):
        return f"{number} {scene.kind}{'' if scene.count == 1 else 's'}"
    if question == HOW_MANY_ANIMALS:
        return "none" if scene.kind == "circle" else number
    if question == HOW_MANY:
        return number
    if question == WHAT_COLOUR:
        return scene.colour
    raise ValueError(f"not a question about pictures: {question!r}")
