"""Videos as the models want them: a few upright frames, and when each is seen. PyAV reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from npukit.errors import NpukitError
from npukit.tasks.pictures import MAX_PIXELS

GAP_PIXELS = 6  # between frames that share a picture, as MiniCPM-V was trained with


@dataclass(frozen=True)
class Sampling:
    """``fps`` frames for every second, spread out where that makes more than ``max_frames``. With
    ``stack_frames`` above 1, as many moments share a step: the first alone, the others in one picture."""

    max_frames: int = 64
    fps: float = 1.0
    stack_frames: int = 1


@dataclass(frozen=True)
class Video:
    """``timestamps_s`` says for each frame when it is seen; a stacked one goes by its first."""

    frames: list[Image.Image]
    timestamps_s: list[float]


def moments(duration_s: float, sampling: Sampling) -> list[list[float]]:
    """The times to look at, in seconds: those of one step together."""
    count = max(1, math.ceil(duration_s * sampling.fps - 1e-6))
    step = 1 / sampling.fps
    if count > sampling.max_frames:
        count = sampling.max_frames
        step = duration_s / count
    parts = range(sampling.stack_frames)
    rows = [[(i + j / sampling.stack_frames) * step for j in parts] for i in range(count)]
    return [[row[0], *(t for t in row[1:] if t < duration_s)] for row in rows]


def open_video(path: str | Path, sampling: Sampling) -> Video:
    """The sampled frames of a file. Raises NpukitError ``video.*``."""
    try:
        import av
    except ImportError as error:
        raise NpukitError("video.no-pyav") from error
    path = Path(path).expanduser()
    if not path.is_file():
        raise NpukitError("video.missing", path=str(path))
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise NpukitError("video.no-stream", path=str(path))
            stream = container.streams.video[0]
            if stream.codec_context.width * stream.codec_context.height > MAX_PIXELS:
                raise NpukitError("picture.too-large", path=str(path), size="", limit=MAX_PIXELS)
            stream.thread_type = "AUTO"
            duration_s = _duration_s(container, stream) or _counted_s(path)
            rows = moments(duration_s, sampling)
            seen = _frames_at(container, stream, [t for row in rows for t in row])
    except (av.FFmpegError, OSError, ValueError) as error:
        raise NpukitError("video.damaged", path=str(path), reason=str(error)) from error
    if not seen:
        raise NpukitError("video.damaged", path=str(path), reason="no frame could be decoded")
    return _stacked(rows, seen)


def _duration_s(container: Any, stream: Any) -> float:
    """As the file says; 0 where it does not."""
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return container.duration / 1_000_000 if container.duration else 0.0


def _counted_s(path: Path) -> float:
    """By looking at every frame."""
    import av

    with av.open(str(path)) as container:
        return max((frame.time or 0.0 for frame in container.decode(video=0)), default=0.0)


def _frames_at(container: Any, stream: Any, times: list[float]) -> dict[float, Image.Image]:
    """What is on the screen at each time; a time after the end shows the last frame."""
    wanted, seen = list(times), {}
    start = before = None
    for frame in container.decode(stream):
        start = frame.time if start is None else start
        now = (frame.time or 0.0) - (start or 0.0)
        while wanted and now > wanted[0] + 1e-6:
            seen[wanted.pop(0)] = _upright(before or frame)
        if not wanted:
            break
        before = frame
    if before is not None:
        last = _upright(before)
        seen.update(dict.fromkeys(wanted, last))
    return seen


def _upright(frame: Any) -> Image.Image:
    image: Image.Image = frame.to_image()
    turn = getattr(frame, "rotation", 0)  # PyAV 14 tells, counter-clockwise as Pillow turns
    return image.rotate(turn, expand=True) if turn else image


def _stacked(rows: list[list[float]], seen: dict[float, Image.Image]) -> Video:
    frames, timestamps = [], []
    for first, *others in rows:
        frames.append(seen[first])
        timestamps.append(first)
        if others:
            frames.append(side_by_side([seen[time] for time in others]))
            timestamps.append(others[0])
    return Video(frames, timestamps)


def side_by_side(frames: list[Image.Image]) -> Image.Image:
    """Frames of one size in one picture, as near to a square as rows and columns allow."""
    width, height = frames[0].size
    shapes = [(n, len(frames) // n) for n in range(1, len(frames) + 1) if len(frames) % n == 0]

    def outer(shape: tuple[int, int]) -> tuple[int, int]:
        columns, rows = shape
        return (columns * (width + GAP_PIXELS) - GAP_PIXELS, rows * (height + GAP_PIXELS) - GAP_PIXELS)

    columns, rows = min(shapes, key=lambda shape: abs(math.log(outer(shape)[0] / outer(shape)[1])))
    canvas = Image.new("RGB", outer((columns, rows)))
    for index, frame in enumerate(frames):
        place = (index % columns * (width + GAP_PIXELS), index // columns * (height + GAP_PIXELS))
        canvas.paste(frame, place)
    return canvas
