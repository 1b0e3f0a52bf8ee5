"""What this device can do at best, so that a model's speed is seen as a share of it.

Every figure is the best of a few repetitions: a limit is what is possible, not what is usual.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from npukit.devices.base import Device

STREAM_BYTES = 256 * 2**20  # beyond the last cache of the processors in use
MATMUL_SIZE = 1024
REPEATS = 5


def device_limits(device: Device, dtype: torch.dtype) -> dict[str, float]:
    """Bytes per second of copying and of reading weights, operations per second of a square product."""
    return {
        "copy_bytes_per_s": _copy(device),
        "read_bytes_per_s": _read(device, dtype),
        "matmul_flop_per_s": _matmul(device, dtype),
    }


def _best_s(device: Device, work: Callable[[], Any]) -> float:
    work()
    device.synchronize()
    spans = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        device.synchronize()
        spans.append(time.perf_counter() - started)
    return min(spans)


def _copy(device: Device) -> float:
    source = torch.ones(STREAM_BYTES // 4, device=device.torch_device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _best_s(device, lambda: target.copy_(source))  # read once, written once


def _read(device: Device, dtype: torch.dtype) -> float:
    """A matrix-vector product: what a decoded token does with every weight."""
    columns = 4096
    rows = STREAM_BYTES // columns // dtype.itemsize
    matrix = torch.ones(rows, columns, device=device.torch_device, dtype=dtype)
    vector = torch.ones(columns, device=device.torch_device, dtype=dtype)
    return matrix.nbytes / _best_s(device, lambda: torch.mv(matrix, vector))


def _matmul(device: Device, dtype: torch.dtype) -> float:
    left = torch.ones(MATMUL_SIZE, MATMUL_SIZE, device=device.torch_device, dtype=dtype)
    right = torch.ones_like(left)
    return 2 * MATMUL_SIZE**3 / _best_s(device, lambda: torch.mm(left, right))
