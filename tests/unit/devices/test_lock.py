"""One holder a card, by its physical number, and the kernel frees what a dead holder held."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from npukit.devices.lock import device_lock, lock_path, physical_card
from npukit.devices.name import DeviceName, parse_device
from npukit.errors import NpukitError

HOLD = """
import sys
from pathlib import Path
from npukit.devices.lock import device_lock
from npukit.devices.name import parse_device
with device_lock(parse_device(sys.argv[1]), Path(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(device: str, directory: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, device, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_the_holder_is_named_and_its_death_frees_the_card(tmp_path: Path) -> None:
    with hold("npu:0", tmp_path) as child:
        with pytest.raises(NpukitError) as caught, device_lock(DeviceName("npu"), tmp_path):
            pass
        assert caught.value.code == "device.busy"
        assert str(child.pid) in str(caught.value)
        with device_lock(DeviceName("npu", 1), tmp_path):
            pass
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        with device_lock(DeviceName("npu"), tmp_path, wait_s=30):
            pass


def test_a_waiter_is_told_once(tmp_path: Path) -> None:
    said: list[str] = []
    cpu = DeviceName("cpu")
    waiting = device_lock(cpu, tmp_path, 0.5, said.append)
    with device_lock(cpu, tmp_path), pytest.raises(NpukitError), waiting:
        pass
    assert len(said) == 1
    assert "waiting up to 0.5 s" in said[0]


def test_visible_devices_are_numbered_as_the_host_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "4, 6")
    assert physical_card(DeviceName("npu", 1)) == "6"
    assert physical_card(DeviceName("npu", 3)) == "3"
    assert lock_path(DeviceName("npu", 0), tmp_path) == tmp_path / "npu4.lock"
    monkeypatch.setenv("NPUKIT_LOCKS", "/tmp/npu_card{card}.lock")
    assert lock_path(DeviceName("npu", 0), tmp_path) == Path("/tmp/npu_card4.lock")
    monkeypatch.setenv("NPUKIT_LOCKS", "/locks")
    assert lock_path(DeviceName("cpu"), tmp_path) == Path("/locks/cpu.lock")


def test_a_lock_file_that_others_wrote(tmp_path: Path) -> None:
    import fcntl

    path = lock_path(DeviceName("cpu"), tmp_path)
    with path.open("w", encoding="utf-8") as stream:
        stream.write("not ours")
        stream.flush()
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(NpukitError) as caught, device_lock(DeviceName("cpu"), tmp_path):
            pass
    assert "another program" in str(caught.value)


@pytest.mark.parametrize("text", ["cpu", "cuda:0", "npu:1"])
def test_names_read_back(text: str) -> None:
    assert str(parse_device(text)) == text
