"""The environment in which a worker's torch_npu finds the emulated CANN."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from npukit.devices.name import DeviceName
from npukit.emulator.build import build, built
from npukit.errors import NpukitError
from npukit.workspace import home


@dataclass(frozen=True)
class Machine:
    """The machine to emulate."""

    devices: int = 1
    soc: str = "Ascend910B3"
    cann: str = "9.1.0"  # the version it says it has
    hbm_bytes: int | None = None  # None: what the SoC has
    faults: str = ""  # "call:count:code[,...]", as aclnnMm:3:507011


def emulated_environment(
    base: Mapping[str, str], library: Path, machine: Machine = Machine()
) -> dict[str, str]:
    """``base`` with everything torch_npu needs to load the libraries under ``library`` (see ``build``).

    ``NPUKIT_EMULATED`` marks every process that inherits it: what runs there never counts as hardware.
    """
    searched = [str(library / "lib64"), *filter(None, [base.get("LD_LIBRARY_PATH")])]
    environment = {
        **base,
        "NPUKIT_EMULATED": "1",
        "ASCEND_HOME_PATH": str(library),
        "ASCEND_OPP_PATH": str(library / "opp"),
        "LD_LIBRARY_PATH": ":".join(searched),
        # Operators run in the caller's thread: a failure is raised where it happened.
        "TASK_QUEUE_ENABLE": base.get("TASK_QUEUE_ENABLE", "0"),
        "NPUKIT_EMU_DEVICES": str(machine.devices),
        "NPUKIT_EMU_SOC": machine.soc,
        "NPUKIT_EMU_CANN": machine.cann,
    }
    if machine.hbm_bytes is not None:
        environment["NPUKIT_EMU_HBM_BYTES"] = str(machine.hbm_bytes)
    if machine.faults:
        environment["NPUKIT_EMU_FAULT"] = machine.faults
    return environment


def emulate(base: Mapping[str, str], device: DeviceName, progress: Callable[[str], None]) -> dict[str, str]:
    """``base`` for a worker on the emulated ``device``; the libraries are built when they are missing.

    Settings of the emulator that are in ``base`` already (``NPUKIT_EMU_*``) stay. Errors: ``emulator.*``.
    """
    if built(home()) is None:
        progress("building the emulator, once: a minute or two")
    environment = emulated_environment(base, build(home()), Machine(devices=needed_devices(base, device)))
    return environment | {name: value for name, value in base.items() if name.startswith("NPUKIT_EMU_")}


def needed_devices(base: Mapping[str, str], device: DeviceName) -> int:
    """As many as ``device`` and the visible-devices mask name: a mask picks among what is there."""
    masked = base.get("ASCEND_RT_VISIBLE_DEVICES", "").split(",")
    return 1 + max([device.index, *(int(part) for part in masked if part.strip().isdecimal())])


def refuse_beside_hardware(forced: bool = False, devices: Path = Path("/dev")) -> None:
    """Emulation where a real NPU is present is a mistake unless it was forced.

    Errors: ``emulator.hardware-present``.
    """
    found = sorted(devices.glob("davinci[0-9]*"))
    if found and not forced:
        raise NpukitError("emulator.hardware-present", device=found[0])
