"""The workers of one run: one on the device, kept and holding the card's lock, and others for a moment."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

from npukit.devices.lock import device_lock
from npukit.devices.name import DeviceName
from npukit.emulator.environment import emulate
from npukit.errors import NpukitError
from npukit.worker.client import Progress, Worker
from npukit.worker.environment import worker_environment

KEPT_LOGS = 20


class Workers:
    """A context manager: leaving it ends every worker and frees the card."""

    def __init__(
        self,
        device: DeviceName,
        locks: Path,
        logs: Path,
        *,
        wait_s: float = 0.0,
        progress: Progress,
        emulated: bool = False,
    ) -> None:
        self._emulated = emulated
        self._name, self._locks, self._logs = device, locks, logs
        self._wait_s, self._progress = wait_s, progress
        self._stack = contextlib.ExitStack()
        self._device: Worker | None = None
        self._locked = False
        self._count = itertools.count(1)
        self.sandbox: Path | None = None
        self.modules: Path | None = None
        self.expected: Mapping[str, str] = {}

    def device(self) -> Worker:
        """The worker on the device of this run: still there, or started now because none is or it died."""
        if self._device is not None and not self._device.alive:
            self.renew()
        if self._device is None:
            if not self._locked and not self._emulated:
                lock = device_lock(self._name, self._locks, self._wait_s, self._progress)
                self._stack.enter_context(lock)
                self._locked = True
            self._device = self._stack.enter_context(self._start(self._name))
        return self._device

    def renew(self) -> None:
        """End the worker on the device; the next one that is asked for is a fresh process."""
        if self._device is not None:
            self._device.kill()
            self._device = None

    @contextlib.contextmanager
    def aside(self, device: DeviceName) -> Iterator[Worker]:
        """Another process, for as long as the block lasts: a fresh one, or the reference's."""
        with self._start(device) as worker:
            yield worker

    def _start(self, device: DeviceName) -> Worker:
        self._progress(f"starting torch on {device}")
        _prune(self._logs)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        log = self._logs / f"worker-{stamp}-{next(self._count)}.log"
        environment = worker_environment(self.sandbox, self._logs, self.modules)
        if (
            self._emulated
        ):  # a reference on the CPU as well: transformers imports torch_npu wherever it is installed
            environment = emulate(environment, self._name, self._progress)
        worker = Worker(str(device), environment, log, self._progress)
        for name, version in worker.hello["versions"].items():
            if name in self.expected and not _same(version, self.expected[name]):
                worker.kill()
                front = self.expected[name]
                raise NpukitError("worker.identity", name=name, worker=version, front=front)
        return worker

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def _same(seen: str, expected: str) -> bool:
    """Versions agree but for a build's local label, which metadata may lack."""
    return seen.split("+")[0] == expected.split("+")[0]


def _prune(logs: Path) -> None:
    for old in sorted(logs.glob("worker-*.log"))[:-KEPT_LOGS]:
        old.unlink(missing_ok=True)
