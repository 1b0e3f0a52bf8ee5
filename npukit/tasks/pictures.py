"""Pictures as the models want them: RGB, upright."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from npukit.errors import NpukitError


def open_picture(path: str) -> Image.Image:
    """The picture at ``path``. Raises NpukitError ``picture.*``."""
    try:
        with Image.open(Path(path)) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except FileNotFoundError as error:
        raise NpukitError("picture.missing", path=path) from error
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        raise NpukitError("picture.unreadable", path=path, reason=str(error)) from error
