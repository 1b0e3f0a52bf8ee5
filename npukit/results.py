"""The record of one stage run, and the checks that judge it.

A record on disk (format 1) is the measurement with its inputs and its environment::

    {"format": 1, "stage": "verify", "model": "tiny-minicpm-v", "device": "cpu", "emulated": false,
     "key": "3f9a...", "inputs": {"weights": "...", "dtype": "float32", ...},
     "environment": {"torch": "2.13.0", ...}, "npukit": "0.1.0",
     "started": "2026-01-31T12:00:00+00:00", "duration_s": 4.2, "measured": {...}}

Checks are not stored: they are recomputed from the measurement when a record is read, so that a changed
limit judges anew without measuring anew.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

FORMAT = 1


@dataclass(frozen=True)
class Check:
    """One named yes/no: what was expected, what was seen. ``passed`` is None when it was skipped."""

    id: str
    passed: bool | None
    expected: str
    observed: str
    cause: str = ""
    remedy: str = ""

    @property
    def verdict(self) -> str:
        return {True: "pass", False: "fail", None: "skip"}[self.passed]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True)
class StageResult:
    """What a stage measured, from which inputs, where."""

    stage: str
    model: str
    device: str
    key: str
    inputs: dict[str, str]
    environment: dict[str, Any]
    measured: dict[str, Any]
    started: str
    duration_s: float
    npukit: str
    emulated: bool = False
    format: int = field(default=FORMAT)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: Any) -> StageResult:
        """Raises ValueError, naming the fault, when ``document`` is not a record of this format."""
        if not isinstance(document, dict):
            raise ValueError("not a JSON object")
        if document.get("format") != FORMAT:
            raise ValueError(f"result format {document.get('format')!r}, this npukit reads {FORMAT}")
        names = cls.__dataclass_fields__
        missing = sorted(set(names) - set(document))
        if missing:
            raise ValueError("missing " + ", ".join(missing))
        return cls(**{name: document[name] for name in names})


@dataclass(frozen=True)
class Judged:
    """A record together with its checks under today's limits."""

    result: StageResult
    checks: tuple[Check, ...]
    reused: bool = False
    path: str = ""

    @property
    def passed(self) -> bool:
        return all(check.passed is not False for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.passed is False)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.result.to_json(),
            "passed": self.passed,
            "reused": self.reused,
            "path": self.path,
            "checks": [check.to_json() for check in self.checks],
        }
