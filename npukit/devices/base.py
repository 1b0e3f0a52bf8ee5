"""What a device must offer. Worker's side: the backends import torch."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from npukit.devices.name import DeviceName

if TYPE_CHECKING:
    import torch

PRECISIONS = ("strict", "fast", "default")


@dataclass(frozen=True)
class Memory:
    """Bytes; None where the device does not tell.

    ``allocated`` are live tensors, ``reserved`` what the allocator holds, ``used`` what the whole device has
    in use by everyone. On the CPU ``allocated`` is the process's resident set.
    """

    allocated_bytes: int
    reserved_bytes: int | None
    peak_allocated_bytes: int
    peak_reserved_bytes: int | None
    used_bytes: int | None
    total_bytes: int | None

    def to_json(self) -> dict[str, int | None]:
        return asdict(self)


class Device(Protocol):
    """One device of this process. Everything raises NpukitError ``device.*`` when the device fails."""

    name: DeviceName

    @property
    def torch_device(self) -> torch.device: ...

    def info(self) -> Mapping[str, Any]:
        """Name, total memory, runtime versions: what a result says of the device."""
        ...

    def probe(self) -> None:
        """Multiply two small matrices and check the product by value: flags are not believed."""
        ...

    def enter_thread(self) -> None:
        """Make this device the current one of the calling thread (the NPU needs it per thread)."""
        ...

    def synchronize(self) -> None: ...

    def memory(self) -> Memory: ...

    def reset_peak(self) -> None: ...

    def empty_cache(self) -> None: ...

    def supports(self, dtype: torch.dtype) -> bool: ...

    def precision(self, mode: str) -> AbstractContextManager[Mapping[str, bool]]:
        """Hold reduced-precision switches: ``strict`` all off, ``fast`` all on, ``default`` as found.

        Yields what is in force; restores what was there.
        """
        ...

    def seed(self, number: int) -> None: ...


def open_device(name: DeviceName) -> Device:
    """The device called ``name``, initialised and probed. Raises NpukitError ``device.*``."""
    module = importlib.import_module(f"npukit.devices.{name.kind}")
    device: Device = module.open_device(name)
    device.probe()
    return device


def check_product(device: torch.device) -> bool:
    """Whether a 64 x 64 product on ``device`` is exact: small whole numbers have one right answer in fp32."""
    import torch

    left = torch.arange(64 * 64, dtype=torch.float32).remainder(7).reshape(64, 64)
    right = torch.arange(64 * 64, dtype=torch.float32).remainder(5).reshape(64, 64)
    product = (left.to(device) @ right.to(device)).cpu()
    return torch.equal(product, left @ right)
