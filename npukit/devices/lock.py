"""One run at a time on one card: ``flock`` on a file per physical card, holding who has it.

The kernel frees the lock with its holder, however that ends. ``$NPUKIT_LOCKS`` names another directory or a
pattern with ``{card}``, to share a pod's own convention such as ``/tmp/npu_card{card}.lock``.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from npukit.devices.name import DeviceName
from npukit.errors import NpukitError

POLL_S = 0.2


def physical_card(name: DeviceName) -> str:
    """The card that ``name`` means outside this process's visible-devices mask."""
    if name.kind == "cpu":
        return "cpu"
    variable = "ASCEND_RT_VISIBLE_DEVICES" if name.kind == "npu" else "CUDA_VISIBLE_DEVICES"
    visible = [part.strip() for part in os.environ.get(variable, "").split(",") if part.strip()]
    index = visible[name.index] if name.index < len(visible) else str(name.index)
    return index if name.kind == "npu" else f"{name.kind}{index}"


def lock_path(name: DeviceName, directory: Path) -> Path:
    card = physical_card(name)
    own = os.environ.get("NPUKIT_LOCKS", "")
    if "{card}" in own:
        return Path(own.replace("{card}", card)).expanduser()
    prefix = "npu" if name.kind == "npu" else ""
    return (Path(own).expanduser() if own else directory) / f"{prefix}{card}.lock"


@contextlib.contextmanager
def device_lock(
    name: DeviceName, directory: Path, wait_s: float = 0.0, progress: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold the card. Raises NpukitError ``device.busy`` naming the holder when ``wait_s`` is over."""
    path = lock_path(name, directory)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as stream:
        _take(stream, name, wait_s, progress)
        stream.seek(0)
        stream.truncate()
        json.dump({"pid": os.getpid(), "command": " ".join(["npukit", *sys.argv[1:]])}, stream)
        stream.flush()
        try:
            yield
        finally:
            stream.seek(0)
            stream.truncate()


def _take(stream: IO[str], name: DeviceName, wait_s: float, progress: Callable[[str], None] | None) -> None:
    end = time.monotonic() + wait_s
    told = False
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(stream)
            if time.monotonic() >= end:
                raise NpukitError("device.busy", device=str(name), holder=holder) from None
            if progress and not told:
                progress(f"{name} is held by {holder}; waiting up to {wait_s:g} s")
                told = True
            time.sleep(POLL_S)
        else:
            return


def _holder(stream: IO[str]) -> str:
    stream.seek(0)
    try:
        holder = json.load(stream)
        return f"process {holder['pid']} ({holder['command']})"
    except (ValueError, KeyError, TypeError):
        return "another program"
