import itertools
import random

import pytest
from PIL import Image, ImageChops, ImageStat

from npukit.builtin import picture, picture_contents
from npukit.builtin.drawings import COLOURS, KINDS, MOST, Scene, draw, random_scene
from npukit.builtin.gallery import EXAMPLES, example

SIZES = [(112, 112), (224, 224), (320, 160), (112, 224)]


def pieces(picture: Image.Image, ground: tuple[int, int, int]) -> int:
    """How many connected areas stand out from the ground."""
    difference = ImageChops.difference(picture, Image.new("RGB", picture.size, ground))
    stands_out = difference.convert("L").point(lambda level: 255 * (level > 8))
    width = picture.width
    left = {(i % width, i // width) for i, level in enumerate(stands_out.tobytes()) if level}
    found = 0
    while left:
        found += 1
        edge = [left.pop()]
        while edge:
            x, y = edge.pop()
            near = {(x + dx, y + dy) for dx, dy in itertools.product((-1, 0, 1), repeat=2)} & left
            left -= near
            edge.extend(near)
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_things_as_the_scene_says_stand_apart(kind: str, size: tuple[int, int]) -> None:
    for count in range(1, MOST + 1):
        drawn = draw(Scene(kind, count, "orange"), random.Random(count), size)
        assert drawn.size == size
        assert drawn.mode == "RGB"
        assert pieces(drawn, drawn.getpixel((0, 0))) == count  # type: ignore[arg-type]


def test_a_seed_names_a_picture() -> None:
    def drawn(seed: int) -> bytes:
        rng = random.Random(seed)
        return draw(random_scene(rng), rng).tobytes()

    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)


def test_every_kind_count_and_colour_comes_up() -> None:
    rng = random.Random(0)
    scenes = [random_scene(rng) for _ in range(500)]
    assert {scene.kind for scene in scenes} == set(KINDS)
    assert {scene.count for scene in scenes} == set(range(1, MOST + 1))
    assert {scene.colour for scene in scenes} == set(COLOURS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_that_ships_is_what_the_gallery_draws(name: str) -> None:
    with Image.open(picture(name)) as shipped:
        drawn = example(name)
        assert shipped.size == drawn.size
        # versions of Pillow round differently
        assert max(ImageStat.Stat(ImageChops.difference(shipped, drawn)).mean) < 1


def test_the_contents_tell_what_the_gallery_draws() -> None:
    told = {name: Scene(**content) for name, content in picture_contents().items()}
    assert told == {name: scene for name, (scene, _) in EXAMPLES.items()}


def test_an_unknown_example_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        picture("no-such.png")
