"""accuracy --suite: does the candidate answer as well as the reference?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from npukit.checks import judged, named
from npukit.results import Check
from npukit.suite import Difference, difference

ERRORS = 2.0  # standard errors that a worse score may be off by chance


def compared(suite: Mapping[str, Any]) -> Difference:
    ours, theirs = zip(*(map(float, row["scores"]) for row in suite["questions"]), strict=True)
    return difference(ours, theirs)


def suite_check(suite: Mapping[str, Any] | None) -> Check:
    expected = f"a score not more than {ERRORS:g} standard errors below the reference's"
    if not suite:
        return judged("accuracy.suite", None, expected, "asked for with --suite")
    found = compared(suite)
    slack = 0.0 if math.isnan(found.standard_error) else ERRORS * found.standard_error
    worse = [row["id"] for row in suite["questions"] if float(row["scores"][0]) < float(row["scores"][1])]
    return judged(
        "accuracy.suite",
        found.difference >= -slack,
        expected,
        f"{suite['name']} {suite['version']}, {found.questions} questions: {found.candidate:.1%} against "
        f"{found.reference:.1%}, {found.difference:+.1%} ± {found.standard_error:.1%}; "
        f"worse{named(worse) or ': none'}",
        cause="worse by more than chance: the error in the logits matters to what the model can do",
        remedy="npukit accuracy --bisect",
    )
