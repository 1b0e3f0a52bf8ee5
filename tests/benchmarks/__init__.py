"""Speed, measured side by side in one run. One file per subject, each with ``measure() -> list[Figure]``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number with its target; ``better`` says which side of the target is good."""

    name: str
    value: float
    unit: str
    target: float | None = None
    better: str = "below"
    conditions: str = ""

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value <= self.target if self.better == "below" else self.value >= self.target
