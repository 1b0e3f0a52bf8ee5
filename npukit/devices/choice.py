"""The device that ``auto`` means, told from files alone; the worker proves it."""

from __future__ import annotations

from pathlib import Path

from npukit.devices.name import DeviceName, parse_device
from npukit.errors import NpukitError
from npukit.host.packages import versions


def choose_device(asked: str) -> tuple[DeviceName, str]:
    """The device and why. What is asked for by name is never replaced. Raises NpukitError ``device.*``."""
    installed = versions(("torch", "torch_npu"))
    if asked != "auto":
        name = parse_device(asked)
        if name.kind == "npu" and installed["torch_npu"] is None:
            raise NpukitError("device.no-torch-npu")
        return name, "asked for"
    if installed["torch_npu"] and any(Path("/dev").glob("davinci[0-9]*")):
        return DeviceName("npu"), "torch_npu is installed and there is a card"
    if Path("/dev/nvidiactl").exists() and "+cpu" not in (installed["torch"] or ""):
        return DeviceName("cuda"), "there is a CUDA card"
    return DeviceName("cpu"), "there is no NPU or CUDA card here"
