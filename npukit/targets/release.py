"""What is known of each vllm-ascend release: data, and the one that is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from npukit.errors import NpukitError
from npukit.host.packages import versions
from npukit.toml import load_toml

DEFAULT = "0.23.0"  # the newest release that is no candidate, among those below


@dataclass(frozen=True)
class Release:
    """``pin`` is its requirement on transformers, ``reads`` the oldest version that meets it; ``attention``
    names the kind of key that its attention backends are chosen by."""

    version: str
    pin: str
    reads: str
    attention: str

    def has(self, since: str) -> bool:
        return Version(self.version) >= Version(since)


@dataclass(frozen=True)
class Loader:
    """How one architecture's weights are read: ``places`` are whole names, as regular expressions."""

    architecture: str
    since: str
    places: tuple[re.Pattern[str], ...]
    children: tuple[str, ...]
    candidates: tuple[tuple[str, str], ...]

    def placed(self, name: str) -> bool:
        return any(pattern.fullmatch(name) for pattern in self.places)


@lru_cache(maxsize=1)
def facts() -> dict[str, Any]:
    return load_toml(Path(__file__).with_name("vllm.toml"))


def releases() -> tuple[Release, ...]:
    return tuple(Release(**row) for row in facts()["release"])


def release(asked: str = "") -> tuple[Release, str]:
    """The facts for ``asked``, else for the installed vllm-ascend, else for DEFAULT; and why these.

    A version between two known ones is read as the older of them. Raises target.unknown-release.
    """
    installed = versions(("vllm-ascend",))["vllm-ascend"]
    wanted = asked or installed or DEFAULT
    why = "asked for" if asked else "installed" if installed else "not installed; the newest release known"
    try:
        older = [each for each in releases() if Version(each.version) <= Version(wanted)]
    except InvalidVersion:
        older = []
    if not older:
        known = ", ".join(each.version for each in releases())
        raise NpukitError("target.unknown-release", version=wanted, known=known)
    if older[-1].version != wanted:
        why += f"; read as {older[-1].version}, the nearest known before it"
    return older[-1], why


def loader(architecture: str) -> Loader | None:
    """The loader's facts, or none where they are not known."""
    row = facts()["loaders"].get(architecture)
    if row is None:
        return None
    base = {**facts()["loaders"][row["like"]], **row} if "like" in row else row
    places = [*base["places"], *base.get("also", [])]
    candidates = tuple((pattern, replacement) for pattern, replacement in base["candidates"])
    return Loader(
        architecture, base["since"], tuple(map(re.compile, places)), tuple(base["children"]), candidates
    )
