"""The embedded model and its pictures: a whole small model that is there without a hub or a network.

Only paths are given here; torch stays out. The other modules draw the pictures (``drawings``,
``questions``, ``gallery``), build and train the model (``blueprint``, ``lessons``, ``train``,
``export``) and measure it (``evaluate``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODELS = ("tiny-minicpm-v",)
PICTURES = Path(__file__).parent / "pictures"


def model_dir(name: str = "tiny-minicpm-v") -> Path:
    """The directory of an embedded model, laid out as a hub repository. ``KeyError`` for another name."""
    if name not in MODELS:
        raise KeyError(name)
    return Path(__file__).parent / name


def picture_contents() -> dict[str, dict[str, Any]]:
    """The example pictures: file name to what is to be seen (``kind``, ``count``, ``colour``)."""
    contents: dict[str, dict[str, Any]] = json.loads((PICTURES / "contents.json").read_text("utf-8"))
    return contents


def picture(name: str = "two-cats.png") -> Path:
    """The path of an example picture. ``KeyError`` for another name."""
    if name not in picture_contents():
        raise KeyError(name)
    return PICTURES / name
