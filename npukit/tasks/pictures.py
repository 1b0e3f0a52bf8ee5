"""Pictures as the models want them: RGB, upright, of a size that memory bears.

What a file is, its content says and not its name. Only the formats below are tried: Pillow's others include
some that start a program (EPS) or that nobody photographs with.
"""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from npukit.errors import NpukitError

FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "ICO")
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".jp2", ".avif")
MAX_PIXELS = 180_000_000  # what Pillow itself calls a decompression bomb; about 540 MB once decoded
LARGE_PIXELS = 32_000_000  # above this a picture is scaled down: no model here looks at so many
MAX_RATIO = 400  # longer strips leave nothing to see after any model's scaling
# what Pillow raises over damaged files, beside its own
DAMAGED = (OSError, ValueError, SyntaxError, EOFError, KeyError, IndexError, TypeError, struct.error)


def open_picture(source: str | Path | bytes | Image.Image) -> Image.Image:
    """The picture in a file, in bytes, or in memory, as upright RGB; of an animated one the first frame.

    Transparency is laid on white; 16 bits keep their range. Raises NpukitError ``picture.*``.
    """
    if isinstance(source, Image.Image):
        return _prepared(source, "the picture in memory")
    if isinstance(source, bytes):
        return _read(io.BytesIO(source), "the picture")
    path = Path(source).expanduser()
    if not path.exists():
        raise NpukitError("picture.missing", path=str(path))
    if not path.is_file():  # a pipe would block, a directory holds many
        raise NpukitError("picture.not-a-file", path=str(path))
    if path.stat().st_size == 0:
        raise NpukitError("picture.empty", path=str(path))
    return _read(path, str(path))


def _read(stream: Any, path: str) -> Image.Image:
    Image.init()
    known = [name for name in FORMATS if name in Image.OPEN]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of metadata that is not used, and of sizes judged here
        try:
            with Image.open(stream, formats=known) as image:
                return _prepared(image, path)
        except UnidentifiedImageError as error:
            raise NpukitError("picture.unknown-format", path=path, formats=", ".join(known)) from error
        except Image.DecompressionBombError as error:
            raise NpukitError("picture.too-large", path=path, size="", limit=MAX_PIXELS) from error
        except DAMAGED as error:
            raise NpukitError("picture.damaged", path=path, reason=str(error)) from error


def _prepared(image: Image.Image, path: str) -> Image.Image:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise NpukitError("picture.too-large", path=path, size=f" ({width} x {height})", limit=MAX_PIXELS)
    if not width or not height or max(width, height) > MAX_RATIO * min(width, height):
        raise NpukitError("picture.too-narrow", path=path, size=f"{width} x {height}", limit=MAX_RATIO)
    shrink = (LARGE_PIXELS / (width * height)) ** 0.5
    target = (max(1, int(width * shrink)), max(1, int(height * shrink)))
    if shrink < 1:
        image.draft("RGB", target)  # a JPEG is then decoded small at once
    image.load()
    image = _upright(image)
    image = _rgb(image)
    if shrink < 1:
        image.thumbnail((max(target), max(target)), Image.Resampling.LANCZOS, reducing_gap=2.0)
    return image


def _upright(image: Image.Image) -> Image.Image:
    """Turned as its EXIF orientation says; a picture whose EXIF is damaged stays as it is."""
    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation)
    except DAMAGED:
        return image
    return ImageOps.exif_transpose(image) if orientation in range(2, 9) else image


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I") or image.mode == "F":
        return _eight_bits(image).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, image).convert("RGB")
    return image.convert("RGB") if image.mode != "RGB" else image.copy()


def _eight_bits(image: Image.Image) -> Image.Image:
    """Grey of 16 or 32 bits as 8: from 0 to 65535 for whole numbers, from least to most for others."""
    import numpy

    values = numpy.asarray(image).astype("float64")
    values = numpy.nan_to_num(values, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    if image.mode != "F" and low >= 0 and high <= 65535:
        low, high = 0.0, 65535.0
    span = (high - low) or 1.0
    return Image.fromarray(((values - low) / span * 255).round().astype("uint8"))
