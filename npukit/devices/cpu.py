"""The CPU as a device: its memory is the process's resident set, read from /proc."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from npukit.devices.base import Memory, check_product
from npukit.devices.name import DeviceName
from npukit.errors import NpukitError
from npukit.host.system import cpu_model


class CpuDevice:
    def __init__(self, name: DeviceName) -> None:
        self.name = name

    @property
    def torch_device(self) -> torch.device:
        return torch.device("cpu")

    def info(self) -> Mapping[str, Any]:
        return {
            "device": "cpu",
            "name": cpu_model(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")),
            "threads": torch.get_num_threads(),
            "total_bytes": self.memory().total_bytes,
        }

    def probe(self) -> None:
        if not check_product(self.torch_device):
            raise NpukitError("device.wrong-product", device=str(self.name))

    def enter_thread(self) -> None:
        return

    def synchronize(self) -> None:
        return

    def memory(self) -> Memory:
        resident, peak = _status_bytes("VmRSS"), _status_bytes("VmHWM")
        total, available = _meminfo_bytes("MemTotal"), _meminfo_bytes("MemAvailable")
        return Memory(resident, None, max(peak, resident), None, total - available, total)

    def reset_peak(self) -> None:
        # proc(5): 5 resets the peak resident set; where a container forbids it, the peak only grows
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")

    def empty_cache(self) -> None:
        return

    def supports(self, dtype: torch.dtype) -> bool:
        return dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16)

    @contextlib.contextmanager
    def precision(self, mode: str) -> Iterator[Mapping[str, bool]]:
        yield {}

    def seed(self, number: int) -> None:
        torch.manual_seed(number)


def open_device(name: DeviceName) -> CpuDevice:
    return CpuDevice(name)


def _status_bytes(field: str) -> int:
    return _kib("/proc/self/status", field)


def _meminfo_bytes(field: str) -> int:
    return _kib("/proc/meminfo", field)


def _kib(path: str, field: str) -> int:
    found = re.search(rf"^{field}:\s*(\d+) kB", Path(path).read_text(encoding="ascii"), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
