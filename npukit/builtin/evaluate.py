"""Measure the embedded model on pictures that it was never trained on.

python -m npukit.builtin.evaluate [DIR] [--pictures N] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from tabulate import tabulate
from transformers import AutoModelForImageTextToText

from npukit.builtin import model_dir
from npukit.builtin.batched import batched
from npukit.builtin.drawings import Scene, draw, random_scene
from npukit.builtin.questions import (
    ABOUT_PICTURES,
    NUMBERS,
    WHAT_AND_HOW_MANY,
    WITHOUT_PICTURE,
    answer,
)
from npukit.tasks.minicpmv_processor import without_torchvision

BATCH = 20
WHOLE, SLICED = ((112, 112),), ((224, 224),)
OBLONG = ((224, 112), (112, 224), (320, 160), (160, 320))


@dataclass(frozen=True)
class Mode:
    """A way to show pictures to the model."""

    name: str
    sizes: tuple[tuple[int, int], ...]
    downsample_mode: str


MODES = (
    Mode("whole 16x", WHOLE, "16x"),
    Mode("whole 4x", WHOLE, "4x"),
    Mode("sliced 16x", SLICED, "16x"),
    Mode("oblong 16x", OBLONG, "16x"),
    Mode("sliced 4x", SLICED, "4x"),
)


@dataclass(frozen=True)
class Score:
    """Shares of pictures from 0 to 1: the whole answer right, the kind named, the number named."""

    mode: str
    pictures: int
    exact: float
    species: float
    count: float


class Answerer:
    """The model of a directory, answering greedily, in fp32 on the CPU."""

    def __init__(self, directory: Path) -> None:
        with batched():
            model = AutoModelForImageTextToText.from_pretrained(directory, dtype=torch.float32)
        self.model = model.eval()
        self.processor = without_torchvision(str(directory))
        self.tokenizer = self.processor.tokenizer

    def answers(
        self, questions: list[str], pictures: list[Image.Image] | None = None, downsample_mode: str = "16x"
    ) -> list[str]:
        """One answer to each question, the pictures going with the questions one to one."""
        texts = []
        for question in questions:
            parts = [{"type": "text", "text": question}]
            if pictures is not None:
                parts.insert(0, {"type": "image"})
            message: list[dict[str, Any]] = [{"role": "user", "content": parts}]
            texts.append(
                self.tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
            )
        if pictures is None:
            inputs = self.tokenizer(texts, padding=True, return_tensors="pt")
        else:
            inputs = self.processor(
                text=texts,
                images=[[picture] for picture in pictures],
                downsample_mode=downsample_mode,
                return_tensors="pt",
            )
        with batched():
            written = self.model.generate(
                **inputs, max_new_tokens=16, do_sample=False, downsample_mode=downsample_mode
            )
        ends = written[:, inputs["input_ids"].shape[1] :]
        return [text.strip() for text in self.tokenizer.batch_decode(ends, skip_special_tokens=True)]


def held_out(mode: Mode, count: int) -> Iterator[tuple[Scene, Image.Image]]:
    """Pictures from generators that no lesson uses, the same ones each time; sizes in blocks of ``BATCH``."""
    for index in range(count):
        rng = random.Random(f"held out/{mode.name}/{index}")
        size = mode.sizes[index // BATCH % len(mode.sizes)]
        scene = random_scene(rng)
        yield scene, draw(scene, rng, size)


def measure(answerer: Answerer, mode: Mode, count: int, question: str = WHAT_AND_HOW_MANY) -> Score:
    """Ask ``question`` about ``count`` held-out pictures."""
    shown = list(held_out(mode, count))
    exact = species = right_count = 0
    for start in range(0, count, BATCH):
        part = shown[start : start + BATCH]
        replies = answerer.answers(
            [question] * len(part), [picture for _, picture in part], mode.downsample_mode
        )
        for (scene, _), reply in zip(part, replies, strict=True):
            words = reply.split()
            exact += reply == answer(question, scene)
            species += scene.kind in words or f"{scene.kind}s" in words
            right_count += NUMBERS[scene.count - 1] in words
    return Score(mode.name, count, exact / count, species / count, right_count / count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=model_dir())
    parser.add_argument("--pictures", type=int, default=200, help="held-out pictures per mode")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    answerer = Answerer(options.directory)
    scores = [measure(answerer, mode, options.pictures) for mode in MODES]
    others = {
        question: measure(answerer, MODES[0], options.pictures, question).exact
        for question in ABOUT_PICTURES
        if question != WHAT_AND_HOW_MANY
    }
    replies = answerer.answers(list(WITHOUT_PICTURE))
    others |= {
        question: float(reply == right)
        for (question, right), reply in zip(WITHOUT_PICTURE.items(), replies, strict=True)
    }
    if options.json:
        document: dict[str, Any] = {"scores": [asdict(score) for score in scores], "other_questions": others}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        return
    rows = [[s.mode, s.pictures, f"{s.exact:.1%}", f"{s.species:.1%}", f"{s.count:.1%}"] for s in scores]
    sys.stdout.write(tabulate(rows, ["mode", "pictures", "exact", "species", "count"], tablefmt="github"))
    rows = [[question, f"{share:.1%}"] for question, share in others.items()]
    sys.stdout.write("\n\n" + tabulate(rows, ["other questions", "exact"], tablefmt="github") + "\n")


if __name__ == "__main__":
    main()
