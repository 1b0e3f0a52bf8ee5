"""Kill, interrupt, crowd: an explained error, nothing half-written, and the next run works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npukit.devices.lock import device_lock
from npukit.devices.name import DeviceName
from npukit.errors import NpukitError
from npukit.worker.client import Worker
from npukit.worker.environment import worker_environment
from tests.integration.conftest import MODEL, Npukit, environment

ROOT = Path(__file__).parents[2]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command line of its own process; it is ended with the test."""
    running: list[subprocess.Popen[str]] = []

    def run(*arguments: object) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-m", "npukit", *map(str, arguments)],
            env=environment(tmp_path / "home"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        running.append(child)
        return child

    yield run
    for child in running:
        child.kill()
        child.communicate()


def wait_for(child: subprocess.Popen[str], words: str) -> None:
    """Read the child's progress until it says ``words``."""
    assert child.stderr is not None
    for line in child.stderr:
        if words in line:
            return
    raise AssertionError(f"the command never said {words!r}")


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in children.split()]


def leftovers(home: Path) -> list[Path]:
    """Files that a writer left half way: they are named with a leading dot."""
    return [path for path in home.rglob(".*") if path.is_file()]


def test_a_worker_killed_in_mid_stage(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    child = start("verify", MODEL, "--json")
    wait_for(child, "loading the model")
    for pid in workers_of(child.pid):
        os.kill(pid, signal.SIGKILL)
    out, _ = child.communicate()
    error = json.loads(out)["error"]
    assert (child.returncode, error["code"]) == (5, "worker.killed")
    assert "dmesg" in error["remedy"]
    home = tmp_path / "home"
    assert not leftovers(home)
    assert not list(home.glob("results/*/cpu/verify/*"))
    again = start("verify", MODEL, "--json")
    out, err = again.communicate()
    assert again.returncode == 0, err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGSEGV, "worker.crashed"), (signal.SIGABRT, "worker.crashed")]
)
def test_a_worker_that_crashes(tmp_path: Path, number: signal.Signals, code: str) -> None:
    log = tmp_path / "worker.log"
    with (
        pytest.raises(NpukitError) as caught,
        Worker("cpu", worker_environment(None, tmp_path), log, lambda text: None) as worker,
    ):
        os.kill(worker.pid, number)
        worker.ask("answers", load={}, prompts=[])
    assert caught.value.code == code
    assert caught.value.fields["signal"] == number.name


def test_a_worker_whose_torch_does_not_import(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "torch.py").write_text(
        "raise ImportError('libfoo.so: cannot open')", encoding="utf-8"
    )
    settings = worker_environment(tmp_path / "broken", tmp_path)
    with pytest.raises(NpukitError) as caught:
        Worker("cpu", settings, tmp_path / "worker.log", lambda text: None)
    assert caught.value.code == "worker.exception"
    assert "libfoo.so" in str(caught.value)
    assert "libfoo.so" in caught.value.evidence


def test_an_interrupt_ends_the_workers(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    child = start("verify", MODEL, "--json")
    wait_for(child, "loading the model")
    workers = workers_of(child.pid)
    assert workers
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate()
    assert (child.returncode, json.loads(out)["error"]["code"]) == (130, "run.interrupted")
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert not leftovers(tmp_path / "home")


def test_a_front_that_is_killed_takes_its_worker_along(start: Callable[..., subprocess.Popen[str]]) -> None:
    child = start("verify", MODEL)
    wait_for(child, "loading the model")
    (worker,) = workers_of(child.pid)
    descriptor = os.pidfd_open(worker) if hasattr(os, "pidfd_open") else None
    child.kill()
    child.communicate()
    if descriptor is None:
        pytest.skip("this Python cannot wait for a process that is not its child")
    import select

    ready, _, _ = select.select([descriptor], [], [], 60)
    os.close(descriptor)
    assert ready, "the worker outlived its front"


def test_a_second_run_says_who_holds_the_device(npukit: Npukit, tmp_path: Path) -> None:
    with device_lock(DeviceName("cpu"), tmp_path / "home" / "locks"):
        said = npukit("verify", MODEL, "--json")
        assert (said.status, said.document["error"]["code"]) == (5, "device.busy")
        assert str(os.getpid()) in said.document["error"]["what"]
        assert "--wait" in said.document["error"]["remedy"]


def test_a_second_run_waits_when_asked_to(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    with device_lock(DeviceName("cpu"), tmp_path / "home" / "locks"):
        child = start("verify", MODEL, "--json", "--wait", 300)
        wait_for(child, "waiting up to")
    out, err = child.communicate()
    assert child.returncode == 0, err
    assert json.loads(out)["passed"]


def test_the_log_of_a_failed_worker_is_explained(
    npukit: Npukit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken").mkdir()
    words = "libhccl.so: cannot open shared object file: No such file or directory"
    (tmp_path / "broken" / "torch.py").write_text(f"raise ImportError({words!r})", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    said = npukit("verify", MODEL, "--json")
    assert said.status == 70
    finding = said.document["error"]["findings"][0]
    assert "set_env.sh" in finding["remedy"]
    said = npukit("verify", MODEL)
    assert "set_env.sh" in said.err
