"""The example pictures, drawn anew: ``python -m npukit.builtin.gallery [DIR]``."""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import asdict
from pathlib import Path

from PIL import Image

from npukit.builtin import PICTURES
from npukit.builtin.drawings import Scene, draw

# File name: what is on it, and width and height. Over 112 x 112 pixels a picture is cut into slices.
EXAMPLES: dict[str, tuple[Scene, tuple[int, int]]] = {
    "two-cats.png": (Scene("cat", 2, "orange"), (112, 112)),
    "three-dogs.png": (Scene("dog", 3, "brown"), (112, 112)),
    "one-cat.png": (Scene("cat", 1, "black"), (112, 112)),
    "four-circles.png": (Scene("circle", 4, "blue"), (112, 112)),
    "three-cats-large.png": (Scene("cat", 3, "white"), (224, 224)),
    "two-dogs-wide.png": (Scene("dog", 2, "red"), (320, 160)),
    "one-dog-tall.png": (Scene("dog", 1, "green"), (160, 320)),
}


def example(name: str) -> Image.Image:
    """The picture of that name; the name is also the seed."""
    scene, size = EXAMPLES[name]
    return draw(scene, random.Random(name), size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=PICTURES)
    directory: Path = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    for name in EXAMPLES:
        example(name).save(directory / name, optimize=True)
    contents = {name: asdict(scene) for name, (scene, _) in EXAMPLES.items()}
    (directory / "contents.json").write_text(json.dumps(contents, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
