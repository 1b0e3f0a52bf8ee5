"""A device's name as users write it: ``cpu``, ``cuda``, ``npu:1``. Pure; the front uses it without torch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from npukit.errors import NpukitError

KINDS = ("cpu", "cuda", "npu")


@dataclass(frozen=True)
class DeviceName:
    kind: str
    index: int = 0

    def __str__(self) -> str:
        return "cpu" if self.kind == "cpu" else f"{self.kind}:{self.index}"


def parse_device(text: str) -> DeviceName:
    """``npu:1`` as a name. Raises NpukitError ``device.unknown``."""
    match = re.fullmatch(r"(cpu|cuda|npu)(?::(\d{1,3}))?", text)
    if not match or (match[1] == "cpu" and match[2] not in (None, "0")):
        raise NpukitError("device.unknown", name=text)
    return DeviceName(match[1], int(match[2] or 0))
