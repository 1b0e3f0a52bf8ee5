"""Pictures with a known content: a few cats, dogs or circles of one colour on a plain ground.

Everything about a picture follows from the random generator that is handed in, so a seed names a
picture for good. The embedded model is trained on these, measured on these, and the example
pictures are made of these.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import Image, ImageDraw

RGB = tuple[int, int, int]

COLOURS: dict[str, RGB] = {
    "orange": (240, 140, 30),
    "black": (25, 25, 25),
    "white": (245, 245, 245),
    "brown": (130, 80, 40),
    "blue": (40, 80, 220),
    "red": (215, 35, 35),
    "green": (40, 160, 60),
}
KINDS = ("cat", "dog", "circle")
MOST = 4

# Drawn this much larger and then shrunk: PIL draws hard edges.
_OVERSAMPLING = 2
# Of the four quarters of a picture, as fractions of its width and height.
_CENTRES = ((0.27, 0.27), (0.73, 0.27), (0.27, 0.73), (0.73, 0.73))
_JITTER = 0.035


@dataclass(frozen=True)
class Scene:
    """What is to be seen: ``count`` things of one ``kind`` and one ``colour``."""

    kind: str
    count: int
    colour: str


def random_scene(rng: random.Random) -> Scene:
    """Any kind, any count from 1 to ``MOST``, any colour, all equally likely."""
    return Scene(rng.choice(KINDS), rng.randint(1, MOST), rng.choice(tuple(COLOURS)))


def draw(scene: Scene, rng: random.Random, size: tuple[int, int] = (112, 112)) -> Image.Image:
    """The scene as an RGB picture of ``size`` = (width, height) pixels; place, size, pose and ground vary."""
    rgb = COLOURS[scene.colour]
    width, height = (edge * _OVERSAMPLING for edge in size)
    picture = Image.new("RGB", (width, height), _ground(rgb, rng))
    canvas = ImageDraw.Draw(picture)
    for x, y in rng.sample(_CENTRES, scene.count):
        extent = min(width, height) * rng.uniform(0.36, 0.46)
        x = width * (x + rng.uniform(-_JITTER, _JITTER))
        y = height * (y + rng.uniform(-_JITTER, _JITTER))
        facing = rng.choice((-1, 1))
        _DRAW[scene.kind](canvas, x, y, extent, rgb, facing)
    return picture.resize(size, Image.Resampling.BICUBIC)


def _ground(rgb: RGB, rng: random.Random) -> RGB:
    """A background that the colour stands out from."""
    low, high = (90, 255) if sum(rgb) < 650 else (60, 190)
    while True:
        ground = (rng.randint(low, high), rng.randint(low, high), rng.randint(low, high))
        if sum(abs(a - b) for a, b in zip(ground, rgb, strict=True)) > 150:
            return ground


def _outline(rgb: RGB) -> RGB:
    return (235, 235, 235) if sum(rgb) < 200 else (30, 30, 30)


def _cat(canvas: ImageDraw.ImageDraw, x: float, y: float, s: float, rgb: RGB, facing: int) -> None:
    """Seen from the front: pointed ears, whiskers, a tail to one side."""
    line, thick = _outline(rgb), max(1, int(s / 26))
    r, hx, hy = s * 0.24, x, y - s * 0.14
    tail = x + facing * s * 0.20
    arc = (270, 90) if facing > 0 else (90, 270)
    canvas.arc(
        (tail - s * 0.16, y - s * 0.05, tail + s * 0.16, y + s * 0.42), *arc, fill=line, width=thick * 2
    )
    canvas.ellipse(
        (x - s * 0.20, y - s * 0.02, x + s * 0.20, y + s * 0.45), fill=rgb, outline=line, width=thick
    )
    for side in (-1, 1):
        ear = [(side * 0.95, -0.35), (side * 0.85, -1.6), (side * 0.15, -0.85)]
        canvas.polygon([(hx + r * a, hy + r * b) for a, b in ear], fill=rgb, outline=line)
    canvas.ellipse((hx - r, hy - r, hx + r, hy + r * 0.9), fill=rgb, outline=line, width=thick)
    for side in (-1, 1):
        eye = hx + side * r * 0.42
        canvas.ellipse((eye - r * 0.14, hy - r * 0.2, eye + r * 0.14, hy + r * 0.15), fill=line)
        for k in (-1, 0, 1):
            whisker = (hx + side * r * 0.3, hy + r * 0.4, hx + side * r * 1.35, hy + r * (0.4 + 0.22 * k))
            canvas.line(whisker, fill=line, width=1)


def _dog(canvas: ImageDraw.ImageDraw, x: float, y: float, s: float, rgb: RGB, facing: int) -> None:
    """Seen from the side: a long body on four legs, a muzzle, a hanging ear."""
    line, thick, f = _outline(rgb), max(1, int(s / 26)), facing
    r, hx, hy = s * 0.21, x + f * s * 0.22, y - s * 0.16
    canvas.rectangle(
        (x - s * 0.34, y + s * 0.02, x + s * 0.30, y + s * 0.24), fill=rgb, outline=line, width=thick
    )
    for leg in (-0.32, -0.17, 0.10, 0.24):
        canvas.rectangle(
            (x + s * leg, y + s * 0.20, x + s * (leg + 0.07), y + s * 0.45), fill=rgb, outline=line
        )
    canvas.line((x - f * s * 0.34, y + s * 0.04, x - f * s * 0.46, y - s * 0.12), fill=line, width=thick * 2)
    canvas.ellipse((hx - r, hy - r, hx + r, hy + r), fill=rgb, outline=line, width=thick)
    muzzle, nose, ear = hx + f * r * 0.6, hx + f * r * 1.2, hx - f * r * 0.9
    canvas.ellipse(
        (muzzle - r * 0.9, hy - r * 0.05, muzzle + r * 0.9, hy + r * 0.8), fill=rgb, outline=line, width=thick
    )
    canvas.ellipse((nose - r * 0.2, hy + r * 0.05, nose + r * 0.2, hy + r * 0.4), fill=line)
    canvas.ellipse((ear - r * 0.35, hy - r * 0.7, ear + r * 0.35, hy + r * 0.95), fill=line)
    canvas.ellipse((hx - r * 0.15, hy - r * 0.45, hx + r * 0.15, hy - r * 0.15), fill=line)


def _circle(canvas: ImageDraw.ImageDraw, x: float, y: float, s: float, rgb: RGB, facing: int) -> None:
    r = s * 0.36
    canvas.ellipse((x - r, y - r, x + r, y + r), fill=rgb, outline=_outline(rgb), width=max(1, int(s / 26)))


_DRAW = {"cat": _cat, "dog": _dog, "circle": _circle}
