"""Two sets of results against each other: what changed, and what got worse beyond a limit. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from npukit.fingerprint import differences
from npukit.results import Judged
from npukit.samples import summarise

LIMIT = 0.10  # the share by which a figure may get worse
ALPHA = 0.05  # the chance of taking noise for a change
FEW = 4  # samples a side below which no change can be significant at ALPHA


@dataclass(frozen=True)
class Reading:
    """One figure of a result. ``samples`` are there where rounds were measured; ``value`` is their median."""

    name: str
    value: float
    higher_is_better: bool = False
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class Change:
    """``ratio`` is after / before; ``p`` the chance of such a difference by noise, None where rounds do not
    allow it; ``worse`` beyond the limit, and not by noise."""

    name: str
    before: float
    after: float
    ratio: float | None
    p: float | None
    worse: bool


@dataclass(frozen=True)
class StageComparison:
    """One stage of one model on both sides. ``verdicts`` and ``checks`` are before → after, changed ones."""

    model: str
    stage: str
    environment: tuple[str, ...]
    verdict: tuple[str, str]
    checks: tuple[tuple[str, str, str], ...]
    answers: tuple[tuple[str, str, str], ...]
    figures: tuple[Change, ...]

    @property
    def worse(self) -> bool:
        lost = self.verdict == ("pass", "fail")
        return (
            lost or any(after == "fail" for _, _, after in self.checks) or any(f.worse for f in self.figures)
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "worse": self.worse}


def compare(before: Sequence[Judged], after: Sequence[Judged], limit: float = LIMIT) -> list[StageComparison]:
    """Every stage that both sides hold, by model and stage; of several results of one stage the newest.

    Sides of one device are matched by it; where they share no device, the stage alone decides (cpu and npu).
    """
    left, right = _newest(before), _newest(after)
    return [_stage(left[key], right[key], limit) for key in left if key in right]


def _newest(results: Sequence[Judged]) -> dict[tuple[str, str], Judged]:
    ordered = sorted(results, key=lambda judged: judged.result.started)
    return {(judged.result.model, judged.result.stage): judged for judged in ordered}


def _stage(before: Judged, after: Judged, limit: float) -> StageComparison:
    old, new = before.result, after.result
    inputs = differences(_told(old.inputs, old.npukit), _told(new.inputs, new.npukit))
    return StageComparison(
        model=new.model,
        stage=new.stage,
        environment=tuple(inputs),
        verdict=(_verdict(before), _verdict(after)),
        checks=tuple(_checks(before, after)),
        answers=tuple(_answers(old.measured, new.measured)) if new.stage == "verify" else (),
        figures=tuple(_changes(readings(before), readings(after), limit)),
    )


def _told(inputs: Mapping[str, str], npukit: str) -> dict[str, str]:
    return {**inputs, "npukit": npukit}


def _verdict(judged: Judged) -> str:
    return "pass" if judged.passed else "fail"


def _checks(before: Judged, after: Judged) -> Iterator[tuple[str, str, str]]:
    old = {check.id: check.verdict for check in before.checks}
    for check in after.checks:
        if check.id in old and old[check.id] != check.verdict:
            yield check.id, old[check.id], check.verdict


def _answers(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    texts = {row["prompt"]: row["text"] for row in old["answers"]}
    for row in new["answers"]:
        if row["prompt"] in texts and texts[row["prompt"]] != row["text"]:
            yield row["prompt"], texts[row["prompt"]], row["text"]


# --- figures


def readings(judged: Judged) -> list[Reading]:
    """The figures of a result that can get better or worse."""
    measured = judged.result.measured
    if judged.result.stage == "bench":
        rounds = measured["rounds"]
        peak = max(int(memory["peak_allocated_bytes"]) for memory in measured["memory"].values())
        return [
            _sampled("latency ms", [row["total_ms"] for row in rounds]),
            _sampled("first token ms", [row["ttft_ms"] for row in rounds]),
            _sampled(
                "decode tokens/s",
                [(r["tokens"] - 1) / r["decode_ms"] * 1e3 for r in rounds if r["decode_ms"]],
                True,
            ),
            Reading("peak MB", peak / 1e6),
        ]
    if judged.result.stage == "accuracy":
        return [
            Reading(f"{row['prompt']} relative L2", float(row["total"]["relative_l2"]))
            for row in measured["prompts"]
        ]
    return []


def _sampled(name: str, samples: list[float], higher_is_better: bool = False) -> Reading:
    return Reading(name, summarise(samples).p50 if samples else 0.0, higher_is_better, tuple(samples))


def _changes(before: list[Reading], after: list[Reading], limit: float) -> Iterator[Change]:
    old = {reading.name: reading for reading in before}
    for new in after:
        if new.name in old:
            yield change(old[new.name], new, limit)


def change(old: Reading, new: Reading, limit: float) -> Change:
    """How ``new`` stands to ``old``. Where rounds allow a test, a change that noise explains is none."""
    p = significance(old.samples, new.samples)
    lost, gained = (new.value, old.value) if new.higher_is_better else (old.value, new.value)
    beyond = not gained <= lost * (1 + limit)  # NaN is beyond
    noise = p is not None and p >= ALPHA
    ratio = new.value / old.value if old.value else None
    return Change(new.name, old.value, new.value, ratio, p, beyond and not noise)


def significance(left: Sequence[float], right: Sequence[float]) -> float | None:
    """The two-sided p of the Mann-Whitney U test, normal approximation with ties and continuity corrected.

    None below FEW samples a side.
    """
    m, n = len(left), len(right)
    if min(m, n) < FEW:
        return None
    u = sum(0.5 if a == b else float(a > b) for a in left for b in right)
    ties = sum(count**3 - count for count in Counter([*left, *right]).values())
    total = m + n
    variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance == 0:
        return 1.0
    z = max(0.0, abs(u - m * n / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))
