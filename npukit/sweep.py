"""Conditions in lists: every combination is one bench result of its own. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from npukit.errors import NpukitError
from npukit.performance import decode_tokens_per_s, tokens_per_s
from npukit.results import StageResult
from npukit.sides import DTYPES
from npukit.stages.bench import peak_bytes

Value = TypeVar("Value")
DOWNSAMPLE = ("4x", "16x")


@dataclass(frozen=True)
class Case:
    """One combination; empty, 0 and None mean as the recipe says."""

    device: str = "auto"
    dtype: str = ""
    batch: int = 1
    prompt_tokens: int = 0
    new_tokens: int | None = None
    downsample: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def cases(
    *,
    device: str = "auto",
    dtype: str | None = None,
    batch: str | None = None,
    prompt_tokens: str | None = None,
    new_tokens: str | None = None,
    downsample: str | None = None,
) -> list[Case]:
    """Every combination of comma-separated values, each once. Raises NpukitError ``bench.wrong-list``."""
    lists: tuple[list[Any], ...] = (
        _values("--device", device, "auto", str, "a device"),
        _values("--dtype", dtype, "", DTYPES.__getitem__, ", ".join(DTYPES)),
        _values("--batch", batch, 1, _count(1), "a whole number from 1"),
        _values("--prompt-tokens", prompt_tokens, 0, _count(1), "a whole number from 1"),
        _values("--new-tokens", new_tokens, None, _count(2), "a whole number from 2"),
        _values("--downsample", downsample, "", _one_of(DOWNSAMPLE), " or ".join(DOWNSAMPLE)),
    )
    return [Case(*values) for values in itertools.product(*lists)]


def _values(
    option: str, text: str | None, default: Value, read: Callable[[str], Value], wanted: str
) -> list[Value]:
    """The values of one option in their order, each once."""
    if text is None:
        return [default]
    try:
        words = [word.strip() for word in text.split(",")]
        if not all(words):
            raise ValueError(text)
        return list(dict.fromkeys(map(read, words)))
    except (ValueError, KeyError) as error:
        raise NpukitError("bench.wrong-list", option=option, text=text, wanted=wanted) from error


def _count(least: int) -> Callable[[str], int]:
    def read(word: str) -> int:
        value = int(word)
        if value < least:
            raise ValueError(word)
        return value

    return read


def _one_of(allowed: tuple[str, ...]) -> Callable[[str], str]:
    def read(word: str) -> str:
        if word not in allowed:
            raise ValueError(word)
        return word

    return read


@dataclass(frozen=True)
class Row:
    """What one case came to. Memory in bytes: the largest allocated peak of all phases, the rounds' reserved
    peak, the whole device in use, and the process's resident set; None where the device does not tell.
    ``relative_l2`` is the difference from the reference in this dtype, None where it was not measured."""

    tokens_per_s: float
    decode_tokens_per_s: float
    peak_allocated_bytes: int
    peak_reserved_bytes: int | None
    used_bytes: int | None
    host_rss_bytes: int
    relative_l2: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def row(result: StageResult, relative_l2: float | None) -> Row:
    measured: Mapping[str, Any] = result.measured
    memory = measured["memory"]["rounds"]
    return Row(
        tokens_per_s(measured),
        decode_tokens_per_s(measured),
        peak_bytes(measured),
        memory["peak_reserved_bytes"],
        memory["used_bytes"],
        memory["host_rss_bytes"],
        relative_l2,
    )
