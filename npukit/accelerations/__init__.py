"""Replacements of a loaded model's operators that prove themselves equal before they serve.

One per file, each with WHY, GAIN, and ``apply(model, device, in_force)``: it recognises its modules by
their structure, compares itself with the original on this very model, and raises Refused with the reason
where it does not fit. ``in_force`` is what those applied before it made.
This file imports no torch: recipes name accelerations.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npukit.devices.base import Device

# in the order in which they are applied. The number is part of keys: raised when what is computed changes
VERSIONS = {"vision-windows": 1, "npu-operators": 1, "decode-step": 1}
AUTO = "auto"


@dataclass(frozen=True)
class Outcome:
    """``reason`` says what is in force, or why the original serves."""

    name: str
    used: bool
    reason: str


@dataclass(frozen=True)
class Applied:
    """What is in force, in words, and what it made for those that come after it."""

    reason: str
    made: Any = None


class Refused(Exception):
    """An acceleration does not fit this model, device or environment; the text says why."""


def wanted(names: Sequence[str]) -> list[str]:
    """The accelerations that a recipe's names ask for: ``auto`` among them is all."""
    return [name for name in VERSIONS if name in names or AUTO in names]


def versions_of(names: Sequence[str]) -> dict[str, int]:
    """Names with their numbers, for keys."""
    return {name: VERSIONS[name] for name in names}


def accelerate(model: Any, names: Sequence[str], device: Device) -> tuple[list[Outcome], Any]:
    """Apply ``names`` to ``model``. Gives what became of each, and the decoder, where there is one."""
    outcomes: list[Outcome] = []
    in_force: dict[str, Any] = {}
    for name in names:
        module = importlib.import_module(f"npukit.accelerations.{name.replace('-', '_')}")
        try:
            applied = module.apply(model, device, in_force)
        except Refused as refused:
            outcomes.append(Outcome(name, False, str(refused)))
        else:
            outcomes.append(Outcome(name, True, applied.reason))
            in_force[name] = applied.made
    return outcomes, in_force.get("decode-step")
