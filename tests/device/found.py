"""Devices of this machine that the contract can be tried on, told without torch."""

from __future__ import annotations

from npukit.devices.choice import choose_device


def found_devices() -> list[str]:
    chosen, _ = choose_device("auto")
    return ["cpu"] if chosen.kind == "cpu" else ["cpu", str(chosen)]
