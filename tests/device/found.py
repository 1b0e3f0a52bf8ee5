"""Devices of this machine that the contract can be tried on, told without torch."""

from __future__ import annotations

import os

from npukit.devices.choice import choose_device


def found_devices() -> list[str]:
    if os.environ.get("NPUKIT_EMULATED"):  # the mark of the emulator's environment
        return ["cpu", "npu:0"]
    chosen, _ = choose_device("auto")
    return ["cpu"] if chosen.kind == "cpu" else ["cpu", str(chosen)]
