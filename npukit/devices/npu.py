"""An Ascend NPU through torch_npu, written against torch_npu 2.1 to 2.14."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from npukit.devices.base import Memory, check_product
from npukit.devices.name import DeviceName
from npukit.errors import NpukitError


class NpuDevice:
    def __init__(self, name: DeviceName, npu: Any, torch_npu_version: str) -> None:
        self.name = name
        self._npu = npu  # torch.npu
        self._torch_npu_version = torch_npu_version

    @property
    def torch_device(self) -> torch.device:
        return torch.device("npu", self.name.index)

    def info(self) -> Mapping[str, Any]:
        _, total = self._npu.mem_get_info(self.name.index)
        return {
            "device": str(self.name),
            "name": self._npu.get_device_name(self.name.index),
            "total_bytes": total,
            "torch_npu": self._torch_npu_version,
            "cann": self._cann_version(),
            "compatible_operators": self._compatible_operators(),
        }

    def _compatible_operators(self) -> bool | None:
        """Whether the operators that agree with torch's own run in place of torch_npu's default ones."""
        told = getattr(self._npu, "are_compatible_impl_enabled", None)
        return told() if told else None

    def _cann_version(self) -> str | None:
        # get_cann_version came after torch_npu 2.1; without it the toolkit's own files tell (npukit env)
        utils = importlib.import_module("torch_npu.npu.utils")
        return utils.get_cann_version() if hasattr(utils, "get_cann_version") else None

    def probe(self) -> None:
        with self.precision("strict"):
            if not check_product(self.torch_device):
                raise NpukitError("device.wrong-product", device=str(self.name))

    def enter_thread(self) -> None:
        self._npu.set_device(self.name.index)  # else 107002: the context of a new thread is empty

    def synchronize(self) -> None:
        self._npu.synchronize(self.name.index)

    def memory(self) -> Memory:
        free, total = self._npu.mem_get_info(self.name.index)
        return Memory(
            self._npu.memory_allocated(self.name.index),
            self._npu.memory_reserved(self.name.index),
            self._npu.max_memory_allocated(self.name.index),
            self._npu.max_memory_reserved(self.name.index),
            total - free,
            total,
        )

    def reset_peak(self) -> None:
        self._npu.reset_peak_memory_stats(self.name.index)

    def empty_cache(self) -> None:
        self._npu.empty_cache()

    def supports(self, dtype: torch.dtype) -> bool:
        return dtype != torch.bfloat16 or bool(self._npu.is_bf16_supported())

    @contextlib.contextmanager
    def precision(self, mode: str) -> Iterator[Mapping[str, bool]]:
        # torch_npu reads unset as: conv HF32 on, matmul HF32 off (torch_npu/npu/npu_config.py)
        conv, matmul = self._npu.conv, self._npu.matmul
        found = (conv.allow_hf32, matmul.allow_hf32)
        if mode != "default":
            conv.allow_hf32 = matmul.allow_hf32 = mode == "fast"
        try:
            yield {"hf32_conv": conv.allow_hf32, "hf32_matmul": matmul.allow_hf32}
        finally:
            conv.allow_hf32, matmul.allow_hf32 = found

    def seed(self, number: int) -> None:
        torch.manual_seed(number)
        self._npu.manual_seed_all(number)


def open_device(name: DeviceName) -> NpuDevice:
    """The NPU, after lazy initialisation: HF32 switches set before it are lost."""
    try:
        torch_npu = importlib.import_module("torch_npu")
    except ModuleNotFoundError as error:
        if error.name != "torch_npu":
            raise
        raise NpukitError("device.no-torch-npu") from error
    npu: Any = torch.npu  # type: ignore[attr-defined]
    if not npu.is_available():
        raise NpukitError("device.no-npu", torch_npu=torch_npu.__version__)
    if name.index >= npu.device_count():
        raise NpukitError("device.no-such-index", device=str(name), count=npu.device_count())
    if hasattr(npu, "use_compatible_impl"):
        # else gelu is the tanh form, whatever was asked for (torch_npu's documentation of npu_gelu)
        npu.use_compatible_impl(True)
    npu.set_device(name.index)
    torch.ones(1).to(torch.device("npu", name.index))
    return NpuDevice(name, npu, torch_npu.__version__)
