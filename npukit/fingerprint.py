"""A stage's inputs as named texts: their hash, and in words how two sets differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHUNK_BYTES = 1 << 20


def canonical(value: Any) -> str:
    """JSON that is the same for equal values: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """Hex sha256 of a JSON value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """Hex sha256 of a file, read in chunks."""
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            hasher.update(chunk)
    return hasher.hexdigest()


def named(values: Mapping[str, Any]) -> dict[str, str]:
    """Inputs as named texts; a nested mapping gives ``outer.inner``, None values are left out."""
    texts: dict[str, str] = {}
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            texts.update({f"{name}.{inner}": text for inner, text in named(value).items()})
        else:
            texts[name] = value if isinstance(value, str) else canonical(value)
    return dict(sorted(texts.items()))


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """In words how ``now`` differs from ``before``: ``cann 8.1 → 8.2``; empty when they are the same."""

    def short(text: str) -> str:
        return text if len(text) <= 40 else text[:12] + "…"

    words = []
    for name in sorted(set(before) | set(now)):
        old, new = before.get(name), now.get(name)
        if old == new:
            continue
        if old is None:
            words.append(f"{name} {short(str(new))} is new")
        elif new is None:
            words.append(f"{name} {short(old)} is gone")
        else:
            words.append(f"{name} {short(old)} → {short(new)}")
    return words
