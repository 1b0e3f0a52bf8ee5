"""The stages, in the order in which they run."""

from __future__ import annotations

from npukit.errors import NpukitError
from npukit.stages.accuracy import Accuracy
from npukit.stages.base import Stage
from npukit.stages.bench import Bench
from npukit.stages.fetch import Fetch
from npukit.stages.patch import Patch
from npukit.stages.verify import Verify

STAGES: tuple[Stage, ...] = (Fetch(), Patch(), Verify(), Accuracy(), Bench())
NAMES = tuple(stage.name for stage in STAGES)


def stage_named(name: str) -> Stage:
    """Raises NpukitError ``stage.unknown``."""
    for stage in STAGES:
        if stage.name == name:
            return stage
    raise NpukitError("stage.unknown", name=name, names=", ".join(NAMES))
