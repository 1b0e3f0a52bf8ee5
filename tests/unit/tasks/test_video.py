from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from npukit.errors import NpukitError
from npukit.tasks.video import GAP_PIXELS, Sampling, moments, open_video, side_by_side
from tests.fixtures.videos import write_sound, write_video

COLOURS = [(220, 20, 20), (20, 220, 20), (20, 20, 220)]
SCENES = [Image.new("RGB", (64, 48), colour) for colour in COLOURS]


def code(path: Path) -> str:
    with pytest.raises(NpukitError) as caught:
        open_video(path, Sampling())
    caught.value.message("en"), caught.value.message("zh")
    return caught.value.code


def seen(image: Image.Image) -> tuple[int, int, int]:
    """The colour of ``COLOURS`` that is nearest to the middle of a frame."""
    middle = image.getpixel((image.width // 2, image.height // 2))
    return min(COLOURS, key=lambda colour: sum(abs(a - b) for a, b in zip(colour, middle, strict=True)))


def test_one_frame_for_every_second(tmp_path: Path) -> None:
    video = open_video(write_video(tmp_path / "a.mp4", SCENES), Sampling())
    assert video.timestamps_s == [0.0, 1.0, 2.0]
    assert [seen(frame) for frame in video.frames] == COLOURS


def test_a_long_video_is_spread_over_the_frames_allowed(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", SCENES, seconds=4)
    video = open_video(path, Sampling(max_frames=3))
    assert video.timestamps_s == [0.0, 4.0, 8.0]
    assert [seen(frame) for frame in video.frames] == COLOURS
    assert len(open_video(path, Sampling(fps=2.0)).frames) == 24


def test_stacked_frames_follow_the_one_they_belong_to(tmp_path: Path) -> None:
    video = open_video(write_video(tmp_path / "a.mp4", SCENES), Sampling(stack_frames=5))
    assert [frame.size for frame in video.frames] == [
        (64, 48),
        (64 * 2 + GAP_PIXELS, 48 * 2 + GAP_PIXELS),
    ] * 3
    assert video.timestamps_s == pytest.approx([0, 0.2, 1, 1.2, 2, 2.2])


@given(st.floats(0, 5000), st.integers(1, 200), st.sampled_from([0.1, 0.5, 1.0, 3.0]), st.integers(1, 5))
def test_moments_are_in_order_and_within(duration: float, most: int, fps: float, stack: int) -> None:
    rows = moments(duration, Sampling(most, fps, stack))
    times = [time for row in rows for time in row]
    assert 1 <= len(rows) <= most
    assert all(1 <= len(row) <= stack for row in rows)
    assert times == sorted(set(times))
    assert times[0] == 0 and (duration == 0 or times[-1] < duration)


def test_frames_share_a_picture_as_square_as_may_be() -> None:
    assert side_by_side(SCENES[:2]).size == (64, 48 * 2 + GAP_PIXELS)
    assert side_by_side([SCENES[0]]).size == (64, 48)
    assert side_by_side(SCENES * 3).size == (64 * 3 + GAP_PIXELS * 2, 48 * 3 + GAP_PIXELS * 2)


def test_what_is_no_video_is_refused_by_name(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "whole.mp4", SCENES).read_bytes()
    index = whole.index(b"moov")
    (tmp_path / "cut.mp4").write_bytes(whole[: index - 40])
    (tmp_path / "cut-index.mp4").write_bytes(whole[: index + 100])
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "noise.mp4").write_bytes(bytes(range(256)) * 20)
    for name in ("cut.mp4", "empty.mp4", "noise.mp4"):
        assert code(tmp_path / name) == "video.damaged", name
    assert code(tmp_path / "absent.mp4") == code(tmp_path) == "video.missing"
    assert code(tmp_path / "cut-index.mp4") == "video.no-stream"
    assert code(write_sound(tmp_path / "sound.wav")) == "video.no-stream"


def test_without_pyav_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    assert code(tmp_path / "a.mp4") == "video.no-pyav"
