"""How long a log of 10 MB takes to explain."""

from __future__ import annotations

import random
import time
from pathlib import Path

from npukit.knowledge import explain, read_log
from tests.benchmarks import Figure

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
BYTES = 10_000_000
ROUNDS = 3


def measure() -> list[Figure]:
    data = long_log()
    first = seconds(data)  # reads the rows too
    warm = min(seconds(data) for _ in range(ROUNDS))
    return [
        Figure("explain 10 MB, first call", first, "s", 2.0, conditions="rows read from TOML"),
        Figure("explain 10 MB", warm, "s", 2.0, conditions=f"best of {ROUNDS}"),
        Figure("explain one traceback", min(seconds(traceback()) for _ in range(20)) * 1000, "ms"),
    ]


def seconds(data: bytes) -> float:
    start = time.perf_counter()
    assert explain(read_log(data))
    return time.perf_counter() - start


def traceback() -> bytes:
    return (LOGS / "failing" / "autoload.txt").read_bytes()


def long_log() -> bytes:
    """Lines of ordinary logs with fresh times and numbers, in colour, and one failure near the end."""
    dice = random.Random(20)
    lines = [
        line
        for path in sorted((LOGS / "ordinary").glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
    ]
    log, size = [], 0
    while size < BYTES:
        stamp = f"2025-12-01 {dice.randrange(24):02}:{dice.randrange(60):02}:{dice.random() * 60:09.6f}"
        line = f"\x1b[32m{stamp}\x1b[0m [{dice.randrange(8)}] {dice.choice(lines)} {dice.randrange(10**6)}"
        log.append(line)
        size += len(line.encode()) + 1
    log.insert(-100, traceback().decode())
    return "\r\n".join(log).encode()
