"""CUDA as a device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from npukit.devices.base import Memory, check_product
from npukit.devices.name import DeviceName
from npukit.errors import NpukitError


class CudaDevice:
    def __init__(self, name: DeviceName) -> None:
        self.name = name

    @property
    def torch_device(self) -> torch.device:
        return torch.device("cuda", self.name.index)

    def info(self) -> Mapping[str, Any]:
        properties = torch.cuda.get_device_properties(self.name.index)
        return {
            "device": str(self.name),
            "name": properties.name,
            "total_bytes": properties.total_memory,
            "cuda": torch.version.cuda,
        }

    def probe(self) -> None:
        with self.precision("strict"):
            if not check_product(self.torch_device):
                raise NpukitError("device.wrong-product", device=str(self.name))

    def enter_thread(self) -> None:
        torch.cuda.set_device(self.name.index)

    def synchronize(self) -> None:
        torch.cuda.synchronize(self.name.index)

    def memory(self) -> Memory:
        free, total = torch.cuda.mem_get_info(self.name.index)
        return Memory(
            torch.cuda.memory_allocated(self.name.index),
            torch.cuda.memory_reserved(self.name.index),
            torch.cuda.max_memory_allocated(self.name.index),
            torch.cuda.max_memory_reserved(self.name.index),
            total - free,
            total,
        )

    def reset_peak(self) -> None:
        torch.cuda.reset_peak_memory_stats(self.name.index)

    def empty_cache(self) -> None:
        torch.cuda.empty_cache()

    def supports(self, dtype: torch.dtype) -> bool:
        return dtype != torch.bfloat16 or torch.cuda.is_bf16_supported()

    @contextlib.contextmanager
    def precision(self, mode: str) -> Iterator[Mapping[str, bool]]:
        conv, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
        found = (conv.allow_tf32, matmul.allow_tf32)
        if mode != "default":
            conv.allow_tf32 = matmul.allow_tf32 = mode == "fast"
        try:
            yield {"tf32_conv": conv.allow_tf32, "tf32_matmul": matmul.allow_tf32}
        finally:
            conv.allow_tf32, matmul.allow_tf32 = found

    def seed(self, number: int) -> None:
        torch.manual_seed(number)
        torch.cuda.manual_seed_all(number)


def open_device(name: DeviceName) -> CudaDevice:
    if not torch.cuda.is_available():
        raise NpukitError("device.no-cuda", torch=torch.__version__)
    if name.index >= torch.cuda.device_count():
        raise NpukitError("device.no-such-index", device=str(name), count=torch.cuda.device_count())
    torch.cuda.set_device(name.index)
    return CudaDevice(name)
