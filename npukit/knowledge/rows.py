"""Rows: what is known, one TOML table each. Adding knowledge is adding a row.

[hccl-missing]                            # the id is "<file>.<table>", here "libraries.hccl-missing"
severity = "fatal"                        # see finding.py
confidence = "source"
role = "cause"                            # may be left out
family = true                             # may be left out: yields to a more specific row on the same text
match = ["libhccl.so*cannot open"]        # patterns (pattern.py); one of them on a line is enough ...
codes = ["507033"]                        # ... or one of these codes, as codes.py finds them
unless = ["libcudart"]                    # not if one of these patterns is on that line
near = ["quant"]                          # only if one of these is within `within` lines (40)
title.en = "..."                          # title, cause and remedy, each .en and .zh; may quote {words}
sources = ["https://..."]
samples = ['''...''']                     # texts that must be recognised, tested
negatives = ['''...''']                   # texts that must not
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from npukit.knowledge.pattern import Pattern
from npukit.toml import load_toml

FOLDER = Path(__file__).parent
_KEYS = {
    *("severity", "confidence", "role", "family", "match", "codes", "unless", "near", "within"),
    *("title", "cause", "remedy", "sources", "samples", "negatives"),
}


@dataclass(frozen=True)
class Row:
    """One row, its patterns compiled. Texts are by language."""

    id: str
    severity: str
    confidence: str
    role: str
    family: bool
    match: tuple[Pattern, ...]
    codes: frozenset[str]
    unless: tuple[Pattern, ...]
    near: tuple[Pattern, ...]
    within: int
    title: Mapping[str, str]
    cause: Mapping[str, str]
    remedy: Mapping[str, str]
    sources: tuple[str, ...]
    samples: tuple[str, ...]
    negatives: tuple[str, ...]

    @property
    def area(self) -> str:
        return self.id.partition(".")[0]


@lru_cache(maxsize=1)
def rows() -> tuple[Row, ...]:
    """Every row, read once. Raises ValueError for a row that is not as above."""
    files = [*sorted((FOLDER / "failures").glob("*.toml")), FOLDER / "phantoms.toml"]
    return tuple(
        _row(f"{file.stem}.{name}", table) for file in files for name, table in load_toml(file).items()
    )


def _row(identity: str, table: dict[str, Any]) -> Row:
    if unknown := table.keys() - _KEYS:
        raise ValueError(f"row {identity}: unknown {', '.join(sorted(unknown))}")

    def patterns(key: str) -> tuple[Pattern, ...]:
        try:
            return tuple(Pattern.parse(text) for text in table.get(key, ()))
        except ValueError as error:
            raise ValueError(f"row {identity}: {key}: {error}") from error

    return Row(
        id=identity,
        severity=table["severity"],
        confidence=table["confidence"],
        role=table.get("role", "cause"),
        family=table.get("family", False),
        match=patterns("match"),
        codes=frozenset(table.get("codes", ())),
        unless=patterns("unless"),
        near=patterns("near"),
        within=table.get("within", 40),
        title=table["title"],
        cause=table["cause"],
        remedy=table["remedy"],
        sources=tuple(table["sources"]),
        samples=tuple(table["samples"]),
        negatives=tuple(table.get("negatives", ())),
    )
