"""Installed packages, read from their metadata: nothing is imported."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

# The packages whose versions decide what a model does on this machine.
IDENTITY = (
    "torch",
    "torch_npu",
    "transformers",
    "huggingface_hub",
    "tokenizers",
    "safetensors",
    "accelerate",
    "numpy",
    "torchvision",
    "pillow",
    "modelscope",
)


def canonical(name: str) -> str:
    """The name as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(extra_path: Path | None = None) -> dict[str, metadata.Distribution]:
    """Every installed distribution by canonical name; the first on the path wins, as it does for import.

    ``extra_path`` is a directory of packages (a sandbox) that comes before all others.
    """
    path = [str(extra_path), *sys.path] if extra_path else list(sys.path)
    found: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions(path=path):
        name = _field(distribution, "Name")
        if name:
            found.setdefault(canonical(name), distribution)
    return found


def versions(names: Iterable[str] = IDENTITY, extra_path: Path | None = None) -> dict[str, str | None]:
    """The installed version of each name, None where it is not installed."""
    path: Sequence[str] = [str(extra_path), *sys.path] if extra_path else sys.path
    return {name: _version(name, path) for name in names}


def _version(name: str, path: Sequence[str]) -> str | None:
    for wanted in dict.fromkeys((name, canonical(name), canonical(name).replace("-", "_"))):
        for distribution in metadata.distributions(name=wanted, path=list(path)):
            version = _field(distribution, "Version")
            if version:
                return version
    return None


def _field(distribution: metadata.Distribution, name: str) -> str | None:
    """A metadata field; None for a half-removed package, whose metadata may be gone altogether."""
    fields: Any = distribution.metadata
    return fields.get(name) if fields else None
