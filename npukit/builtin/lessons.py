"""The batches the embedded model learns from.

A batch follows from the seed and the number of its step alone, so a training that was stopped goes on
exactly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from npukit.builtin.blueprint import SCALE_PIXELS
from npukit.builtin.drawings import COLOURS, KINDS, Scene, draw, random_scene
from npukit.builtin.questions import (
    ABOUT_PICTURES,
    WHAT_IN_EACH,
    WITHOUT_PICTURE,
    answer,
    answer_about_each,
)
from npukit.builtin.tokenizer import SYSTEM_PROMPT
from npukit.tasks.minicpmv_processor import without_torchvision

LARGEST_EDGE = 360
# Squares are learned easily and teach the rest; after so many steps they become few.
MOSTLY_SQUARES_STEPS = 1500


@dataclass(frozen=True)
class Lesson:
    """One kind of batch: pictures to a text, whether they are cut into slices, texts to it, how often."""

    name: str
    pictures: int
    sliced: bool
    downsample_mode: str
    batch: int
    share: int


LESSONS = (
    Lesson("whole 16x", 1, False, "16x", 32, 20),
    Lesson("whole 4x", 1, False, "4x", 32, 20),
    Lesson("sliced 16x", 1, True, "16x", 16, 35),
    Lesson("sliced 4x", 1, True, "4x", 10, 15),
    Lesson("two 16x", 2, False, "16x", 16, 6),
    Lesson("none", 0, False, "16x", 8, 4),
)


@dataclass(frozen=True)
class Batch:
    """``inputs`` as the model takes them, ``labels`` with -100 where nothing is to be learned.

    ``facets``: (pictures, 3), the numbers of kind, count and colour. ``overviews``: which of all
    views (an overview and each of its slices is one) are the overviews of these pictures.
    """

    lesson: Lesson
    inputs: dict[str, torch.Tensor]
    labels: torch.Tensor
    facets: torch.Tensor
    overviews: range


class Lessons(Dataset[Batch]):
    """Batch number ``step`` of the course that ``seed`` names, as the model in ``directory`` takes it."""

    def __init__(self, directory: Path, steps: int, seed: int) -> None:
        self.steps, self.seed = steps, seed
        self.processor = without_torchvision(str(directory))
        self.tokenizer = self.processor.tokenizer
        self._before_answer = self.tokenizer("<|im_start|>assistant\n").input_ids

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, step: int) -> Batch:
        torch.set_num_threads(1)
        rng = random.Random(f"{self.seed}/{step}")
        (lesson,) = rng.choices(LESSONS, [lesson.share for lesson in LESSONS])
        # One length and one picture size to a batch: nothing is lost to padding.
        (turns,) = rng.choices((1, 2, 3), (14, 5, 1))
        with_system = rng.random() < 0.1
        squares = 0.5 if step < MOSTLY_SQUARES_STEPS else 0.2
        size = _sliced_size(rng, squares) if lesson.sliced else _whole_size(rng, squares)
        shown = [[random_scene(rng) for _ in range(lesson.pictures)] for _ in range(lesson.batch)]
        texts = [self._conversation(rng, turns, with_system, scenes) for scenes in shown]
        if not lesson.pictures:
            inputs = self.tokenizer(texts, padding=True, return_tensors="pt")
            return Batch(lesson, dict(inputs), self._labels(inputs["input_ids"]), torch.empty(0, 3), range(0))
        inputs = self.processor(
            text=texts,
            images=[[draw(scene, rng, size) for scene in scenes] for scenes in shown],
            downsample_mode=lesson.downsample_mode,
            return_tensors="pt",
        )
        flat = [scene for scenes in shown for scene in scenes]
        facets = [[KINDS.index(s.kind), s.count - 1, list(COLOURS).index(s.colour)] for s in flat]
        views = len(inputs["target_sizes"])
        overviews = range(0, views, views // len(flat))
        return Batch(lesson, dict(inputs), self._labels(inputs["input_ids"]), torch.tensor(facets), overviews)

    def _conversation(self, rng: random.Random, turns: int, with_system: bool, scenes: list[Scene]) -> str:
        """Questions with their answers, the pictures with the first question."""
        messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM_PROMPT}] * with_system
        for turn in range(turns):
            with_picture = turn == 0 or rng.random() < 0.9
            if len(scenes) > 1 and with_picture:
                question, reply = WHAT_IN_EACH, answer_about_each(scenes)
            elif scenes and with_picture:
                (question,) = rng.choices(list(ABOUT_PICTURES), list(ABOUT_PICTURES.values()))
                reply = answer(question, scenes[0])
            else:
                question, reply = rng.choice(list(WITHOUT_PICTURE.items()))
            content = [{"type": "image"}] * len(scenes) * (turn == 0) + [{"type": "text", "text": question}]
            messages += [{"role": "user", "content": content}, {"role": "assistant", "content": reply}]
        text: str = self.tokenizer.apply_chat_template(messages, tokenize=False)
        return text.removesuffix("\n")

    def _labels(self, input_ids: torch.Tensor) -> torch.Tensor:
        """The ids of the answers and of the token that ends each; -100 elsewhere."""
        labels = torch.full_like(input_ids, -100)
        before = self._before_answer
        for row, ids in enumerate(input_ids.tolist()):
            for at in range(len(ids)):
                if ids[at : at + len(before)] == before:
                    first = at + len(before)
                    last = ids.index(self.tokenizer.eos_token_id, first)
                    labels[row, first : last + 1] = input_ids[row, first : last + 1]
        return labels


def _whole_size(rng: random.Random, squares: float) -> tuple[int, int]:
    """Small enough to be looked at in one piece; ``squares``: the share of squares."""
    if rng.random() < squares:
        return SCALE_PIXELS, SCALE_PIXELS
    width = rng.randint(SCALE_PIXELS * 5 // 8, SCALE_PIXELS * 8 // 5)
    height = min(SCALE_PIXELS**2 // width, SCALE_PIXELS * 8 // 5)
    return width, height


def _sliced_size(rng: random.Random, squares: float) -> tuple[int, int]:
    """Large enough to be cut into slices, no side over 2.2 times the other."""
    if rng.random() < squares:
        return 2 * SCALE_PIXELS, 2 * SCALE_PIXELS
    while True:
        width, height = (rng.randint(SCALE_PIXELS, LARGEST_EDGE) for _ in range(2))
        if width * height > SCALE_PIXELS**2 and max(width, height) < 2.2 * min(width, height):
            return width, height
