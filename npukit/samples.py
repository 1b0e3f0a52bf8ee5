"""Statistics of raw samples. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Summary:
    """``mad`` is the median absolute deviation; percentiles interpolate linearly between samples."""

    n: int
    min: float
    mean: float
    p50: float
    p90: float
    p95: float
    max: float
    stdev: float
    mad: float

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def summarise(samples: Sequence[float]) -> Summary:
    """Raises ValueError when there is no sample."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    middle = percentile(ordered, 0.5)
    return Summary(
        n=len(ordered),
        min=ordered[0],
        mean=statistics.fmean(ordered),
        p50=middle,
        p90=percentile(ordered, 0.9),
        p95=percentile(ordered, 0.95),
        max=ordered[-1],
        stdev=statistics.stdev(ordered) if len(ordered) > 1 else 0.0,
        mad=percentile(sorted(abs(sample - middle) for sample in ordered), 0.5),
    )


def percentile(ordered: Sequence[float], share: float) -> float:
    """``ordered`` ascending, ``share`` from 0 to 1."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
