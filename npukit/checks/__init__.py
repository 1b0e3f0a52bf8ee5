"""How measurements are judged, one subject per module. Pure: a measurement and a recipe in, checks out."""

from __future__ import annotations

from npukit.results import Check


def judged(
    id: str, passed: bool | None, expected: str, observed: str, *, cause: str = "", remedy: str = ""
) -> Check:
    """A check that names its cause and next step only where it failed."""
    failed = passed is False
    return Check(id, passed, expected, observed, cause if failed else "", remedy if failed else "")


def named(names: list[str], shown: int = 5) -> str:
    """``: a, b and 3 more``; empty for no names."""
    if not names:
        return ""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ": " + ", ".join(names[:shown]) + more
