"""Where a file is and what it must be: plain data, hashes, words."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Address:
    """Where a file is. ``headers`` may hold secrets and are never shown."""

    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        """The address without its query, where signatures stand."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


@dataclass(frozen=True)
class Expected:
    """What the source states of a file; a hash is empty when it states none."""

    path: str
    size: int
    sha256: str = ""
    git_sha1: str = ""

    @property
    def key(self) -> str:
        """Names the content; empty when nothing but the size is known."""
        return self.sha256 or self.git_sha1


class Hashes:
    """sha256, and git's blob sha1 where that is what the source states."""

    def __init__(self, expected: Expected) -> None:
        self.sha256 = hashlib.sha256()
        self.git = None
        if expected.git_sha1 and not expected.sha256:
            self.git = hashlib.sha1(b"blob %d\0" % expected.size, usedforsecurity=False)

    def update(self, data: bytes) -> None:
        self.sha256.update(data)
        if self.git is not None:
            self.git.update(data)

    def disagreement(self, expected: Expected) -> tuple[str, str]:
        """(stated, seen) of the hash that differs, or two empty texts."""
        if expected.sha256 and expected.sha256 != self.sha256.hexdigest():
            return expected.sha256, self.sha256.hexdigest()
        if self.git is not None and expected.git_sha1 != self.git.hexdigest():
            return expected.git_sha1, self.git.hexdigest()
        return "", ""


def hash_as(path: Path, expected: Expected) -> str:
    """The sha256 of a file that is what ``expected`` says; empty when it is not, or cannot be read."""
    try:
        if path.stat().st_size != expected.size:
            return ""
        hashes = Hashes(expected)
        with path.open("rb") as stream:
            while data := stream.read(PIECE_BYTES):
                hashes.update(data)
    except OSError:
        return ""
    return "" if hashes.disagreement(expected)[0] else hashes.sha256.hexdigest()


def mega(size: float) -> str:
    return f"{size / 1e6:,.1f}"


def cause_of(error: BaseException) -> str:
    """The innermost reason of a wrapped connection error; no address that might hold a signature."""
    seen: list[BaseException] = [error]
    while True:
        last = seen[-1]
        inner = (getattr(last, "reason", None), *last.args, last.__cause__, last.__context__)
        deeper = next((e for e in inner if isinstance(e, BaseException) and e not in seen), None)
        if deeper is None:
            break
        seen.append(deeper)
    statuses = [getattr(getattr(e, "response", None), "status_code", 0) for e in seen]
    if any(statuses):
        return f"HTTP {next(filter(None, statuses))}"
    told = [text for e in reversed(seen) if isinstance(text := getattr(e, "strerror", None), str)]
    return told[0] if told else type(seen[-1]).__name__
