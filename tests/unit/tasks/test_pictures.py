from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest
from PIL import Image

from npukit.errors import NpukitError
from npukit.tasks.pictures import LARGE_PIXELS, open_picture
from tests.fixtures.pictures import (
    HEIGHT,
    TURNED,
    WIDTH,
    grey16,
    plain,
    readable,
    saved,
    unreadable,
    with_orientation,
    write,
)

READABLE, UNREADABLE = readable(), unreadable()


def code(source: object) -> str:
    with pytest.raises(NpukitError) as caught:
        open_picture(source)  # type: ignore[arg-type]
    caught.value.message("en"), caught.value.message("zh")  # the fields fill both texts
    return caught.value.code


def distance(left: Image.Image, right: Image.Image) -> float:
    return float(numpy.abs(numpy.asarray(left, dtype="float") - numpy.asarray(right, dtype="float")).mean())


@pytest.mark.parametrize("name", READABLE)
def test_odd_pictures_open_as_rgb(tmp_path: Path, name: str) -> None:
    picture = open_picture(write(tmp_path, name, READABLE[name]))
    assert picture.mode == "RGB"
    assert picture.size in {(WIDTH, HEIGHT), (1, 1), (1, 300)}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_picture_is_refused_by_name(tmp_path: Path, name: str) -> None:
    data, expected = UNREADABLE[name]
    assert code(write(tmp_path, name, data)) == expected


@pytest.mark.parametrize("orientation", [1, *TURNED])
def test_exif_orientation_is_undone(orientation: int) -> None:
    assert distance(open_picture(with_orientation(orientation)), plain()) == 0


@pytest.mark.parametrize(
    "name", ["cmyk.jpg", "ycbcr.tiff", "palette.png", "animated.gif", "animated.png", "pages.tiff"]
)
def test_colours_and_first_frames_are_kept(name: str) -> None:
    assert distance(open_picture(READABLE[name]), plain()) < 6


def test_transparent_is_white() -> None:
    assert open_picture(READABLE["transparent.png"]).getcolors() == [(WIDTH * HEIGHT, (255, 255, 255))]
    half = open_picture(READABLE["grey-alpha.png"])
    assert distance(half, plain().convert("L").point(lambda v: (v + 255) // 2).convert("RGB")) < 2


@pytest.mark.parametrize("name", ["grey16.png", "grey32.tiff", "float.tiff"])
def test_many_bits_keep_their_range(name: str) -> None:
    values = numpy.asarray(open_picture(READABLE[name]))[..., 0]
    expected = numpy.asarray(grey16()).astype("float") / 257
    assert numpy.abs(values - expected).max() <= 1


def test_floats_without_a_number_still_open() -> None:
    values = numpy.array([[0.0, 1.0], [float("nan"), float("inf")]], dtype="float32")
    assert open_picture(Image.fromarray(values)).mode == "RGB"


def test_a_hundred_megapixels_are_scaled_down(tmp_path: Path) -> None:
    path = write(tmp_path, "large.png", saved(Image.new("1", (12_500, 8_000)), "PNG"))
    picture = open_picture(path)
    assert picture.width * picture.height <= LARGE_PIXELS
    assert abs(picture.width / picture.height - 12_500 / 8_000) < 0.01


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    assert code(tmp_path / "absent.png") == "picture.missing"
    assert code(tmp_path) == "picture.not-a-file"
    assert code(tmp_path / "pipe.png") == "picture.not-a-file"  # and does not wait for a writer


def test_the_caller_keeps_its_picture() -> None:
    mine = plain()
    open_picture(mine).putpixel((0, 0), (9, 9, 9))
    assert mine.getpixel((0, 0)) == (30, 200, 30)
