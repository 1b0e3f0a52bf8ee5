"""Read TOML on every supported Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOMLDecodeError = tomllib.TOMLDecodeError


def load_toml(path: Path) -> dict[str, Any]:
    """The document at ``path``. Raises OSError, UnicodeDecodeError, or TOMLDecodeError."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
