"""The environment of an emulated worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukit.devices.name import DeviceName
from npukit.emulator.environment import (
    Machine,
    emulated_environment,
    needed_devices,
    refuse_beside_hardware,
)
from npukit.errors import ExitStatus, NpukitError


def test_it_is_marked_and_keeps_what_was_there() -> None:
    base = {"PATH": "/bin", "LD_LIBRARY_PATH": "/usr/local/Ascend/lib64"}
    environment = emulated_environment(base, Path("/cache/emulator/abc"))
    assert environment["NPUKIT_EMULATED"] == "1"
    assert environment["PATH"] == "/bin"
    # before a real CANN's, which stays reachable
    assert environment["LD_LIBRARY_PATH"] == "/cache/emulator/abc/lib64:/usr/local/Ascend/lib64"
    assert environment["ASCEND_HOME_PATH"] == "/cache/emulator/abc"
    assert "NPUKIT_EMULATED" not in base


def test_operators_run_in_the_callers_thread_unless_asked_otherwise() -> None:
    assert emulated_environment({}, Path("/x"))["TASK_QUEUE_ENABLE"] == "0"
    assert emulated_environment({"TASK_QUEUE_ENABLE": "2"}, Path("/x"))["TASK_QUEUE_ENABLE"] == "2"


def test_the_machine_is_told() -> None:
    machine = Machine(devices=2, soc="Ascend310P3", hbm_bytes=2**30, faults="aclnnMm:1:507011")
    environment = emulated_environment({}, Path("/x"), machine)
    assert environment["NPUKIT_EMU_DEVICES"] == "2"
    assert environment["NPUKIT_EMU_SOC"] == "Ascend310P3"
    assert environment["NPUKIT_EMU_HBM_BYTES"] == str(2**30)
    assert environment["NPUKIT_EMU_FAULT"] == "aclnnMm:1:507011"


@pytest.mark.parametrize(
    ("mask", "index", "count"),
    [(None, 0, 1), (None, 2, 3), ("", 1, 2), ("1, 3", 0, 4), ("0", 1, 2), ("x", 0, 1)],
)
def test_there_are_as_many_devices_as_are_named(mask: str | None, index: int, count: int) -> None:
    base = {} if mask is None else {"ASCEND_RT_VISIBLE_DEVICES": mask}
    assert needed_devices(base, DeviceName("npu", index)) == count


def test_beside_a_real_npu_it_must_be_forced(tmp_path: Path) -> None:
    refuse_beside_hardware(devices=tmp_path)
    (tmp_path / "davinci_manager").touch()
    refuse_beside_hardware(devices=tmp_path)
    (tmp_path / "davinci3").touch()
    with pytest.raises(NpukitError) as refused:
        refuse_beside_hardware(devices=tmp_path)
    assert refused.value.message().status == ExitStatus.USAGE
    assert "davinci3" in refused.value.message().what
    refuse_beside_hardware(forced=True, devices=tmp_path)
