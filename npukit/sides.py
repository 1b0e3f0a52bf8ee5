"""A side of a comparison as a user writes it: ``npu:bf16``, ``npu:1:fp16``, ``cpu:fp32``."""

from __future__ import annotations

from dataclasses import dataclass

from npukit.devices.name import DeviceName, parse_device
from npukit.errors import NpukitError

DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    **{name: name for name in ("float64", "float32", "float16", "bfloat16")},
}


@dataclass(frozen=True)
class Side:
    """What computes, and in which dtype."""

    device: DeviceName
    dtype: str

    def __str__(self) -> str:
        return f"{self.device}:{self.dtype}"


def parse_side(text: str) -> Side:
    """Raises NpukitError ``accuracy.no-side`` or ``device.unknown``."""
    device, _, dtype = text.rpartition(":")
    if not device or dtype not in DTYPES:
        raise NpukitError("accuracy.no-side", text=text, dtypes=", ".join(DTYPES))
    return Side(parse_device(device), DTYPES[dtype])
