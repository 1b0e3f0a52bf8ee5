"""The Ascend driver and firmware: their versions, and whether the driver's libraries can be seen."""

from __future__ import annotations

import re
from dataclasses import dataclass

from npukit.host.machine import Host
from npukit.host.verdict import Verdict, Voice

ROOT = "/usr/local/Ascend"
LIBRARY = "libascend_hal.so"
LIBRARY_PLACES = (f"{ROOT}/driver/lib64/driver", f"{ROOT}/driver/lib64", "/usr/lib64", "/usr/lib64/driver")


@dataclass(frozen=True)
class Driver:
    """``firmware_range`` is what the driver declares to work with, as (lowest, highest)."""

    version: str = ""
    firmware: str = ""
    firmware_range: tuple[str, str] | None = None
    library: bool = False


def driver(host: Host) -> Driver:
    info = host.read(f"{ROOT}/driver/version.info") or ""
    firmware = host.read(f"{ROOT}/firmware/version.info") or ""
    bounds = re.search(r"^compatible_version_fw=\[([\d.]+),\s*([\d.]+)\]", info, re.MULTILINE)
    places = (*LIBRARY_PLACES, *host.environ.get("LD_LIBRARY_PATH", "").split(":"))
    return Driver(
        version=_value(info, "package_version") or _value(info, "Version"),
        firmware=_value(firmware, "package_version") or _value(firmware, "Version"),
        firmware_range=(bounds.group(1), bounds.group(2)) if bounds else None,
        library=any(host.entry(f"{place}/{LIBRARY}") for place in places if place),
    )


def judge_driver(seen: Driver, container: str, board_firmware: str, voice: Voice) -> list[Verdict]:
    """``board_firmware`` is what npu-smi names; only asked where something speaks for an NPU."""
    if not seen.version and not seen.library:
        return [voice.fail(f"driver.{'unmounted' if container else 'absent'}")]
    if not seen.library:
        return [voice.fail("driver.no_library", version=seen.version)]
    firmware = board_firmware or seen.firmware
    text = f"driver {seen.version or 'of unknown version'}" + (f", firmware {firmware}" if firmware else "")
    if firmware and seen.firmware_range and not _within(firmware, seen.firmware_range):
        low, high = seen.firmware_range
        return [voice.warn("driver.firmware", seen=text, low=low, high=high)]
    return [voice.ok("driver.version", text)]


def _value(text: str, name: str) -> str:
    found = re.search(rf"^{name}=\[?([^\]\s]+)", text, re.MULTILINE)
    return found.group(1) if found else ""


def _within(version: str, bounds: tuple[str, str]) -> bool:
    """Compared as far as the bounds are written: 7.5.0.1.129 lies in [7.0.0, 7.5.99]."""
    low, high = (_numbers(bound) for bound in bounds)
    numbers = _numbers(version)
    return low <= numbers[: len(low)] and numbers[: len(high)] <= high


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
