"""Keeps a probe off the cards on which another npukit run measures: it would spoil their figures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from npukit.devices.lock import device_lock
from npukit.devices.name import DeviceName
from npukit.errors import NpukitError
from npukit.host.device_files import device_files
from npukit.host.machine import Host
from npukit.host.variables import MASK


@contextlib.contextmanager
def hold_free_cards(host: Host, locks: Path) -> Iterator[dict[str, str]]:
    """Hold every NPU of this process that is free; yields the others, each with its holder."""
    mask = host.environ.get(MASK)
    count = len(mask.split(",")) if mask else len(device_files(host).cards)
    taken: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        for name in (DeviceName("npu", index) for index in range(count)):
            try:
                stack.enter_context(device_lock(name, locks))
            except NpukitError as busy:
                taken[str(name)] = str(busy.fields["holder"])
            except OSError:  # no place for locks here: then nobody else has one either
                break
        yield taken
