"""One at a time: a lock on a directory that npukit is about to change."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Wait for, then hold, the lock of ``directory``. The kernel frees it however the process ends."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
