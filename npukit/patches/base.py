"""What a patch is: words for people, options as data, and one pure function from files to changed files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from packaging.version import Version

from npukit.errors import NpukitError
from npukit.patches.tree import Tree


@dataclass(frozen=True)
class Words:
    """The same text in both languages."""

    en: str
    zh: str

    def of(self, lang: str) -> str:
        return self.zh if lang == "zh" else self.en


@dataclass(frozen=True)
class Situation:
    """Who will read the files: the transformers version in use, and whether it runs the model's own code."""

    transformers: str
    own_code: bool = False

    def before(self, version: str) -> bool:
        """Whether the reader is older than ``version``."""
        return Version(self.transformers) < Version(version)


class Streamed(Protocol):
    """New content too large for memory: it writes itself."""

    def write(self, path: Path) -> None: ...

    def describe(self) -> list[str]:
        """Lines that stand for the content in a diff; equal lines mean equal content."""
        ...


@dataclass(frozen=True)
class Change:
    """What a patch does to one model: new contents by file, facts for the worker, or a note why nothing."""

    note: str
    files: Mapping[str, bytes | Streamed] = field(default_factory=dict)
    worker: tuple[dict[str, Any], ...] = ()
    account: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Patch:
    """One kind of edit. ``options`` is the frozen dataclass that a recipe's entry is read into."""

    name: str
    why: Words
    how: Words
    symptom: str
    upstream: tuple[str, ...]
    remove_when: Words
    options: type
    edit: Callable[[Tree, Any, Situation], Change]
    standing: bool = False


def unfit(patch: str, file: str, reason: str) -> NpukitError:
    """The error for a patch that meets a file it was not written for."""
    return NpukitError("patch.unfit", patch=patch, file=file, reason=reason)
