"""How long the command line takes to answer without doing anything."""

from __future__ import annotations

import resource
import subprocess
import sys

from tests.benchmarks import Figure

ROUNDS = 7


def measure() -> list[Figure]:
    bare = min(cpu_seconds("-c", "pass") for _ in range(ROUNDS))
    help_page = min(cpu_seconds("-m", "npukit", "--help") for _ in range(ROUNDS))
    return [
        Figure("npukit --help, CPU time", help_page, "s", 0.3, conditions=f"best of {ROUNDS}"),
        Figure("npukit --help / python -c pass", help_page / bare, "x"),
    ]


def cpu_seconds(*arguments: str) -> float:
    """User and system time of one child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
