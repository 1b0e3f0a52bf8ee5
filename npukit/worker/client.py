"""The front's end: starts the worker, asks it, and turns its death into an explained error."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from npukit.errors import NpukitError
from npukit.worker import protocol

# '' on sys.path would let the directory a user stands in shadow packages
BOOT = "import sys; sys.path[:] = [p for p in sys.path if p]; from npukit.worker.main import main; main()"
HEARTBEAT_S = 30.0
GRACE_S = 5.0
LOG_TAIL_BYTES = 64 * 1024
READ_BYTES = 1 << 16

Progress = Callable[[str], None]


class Worker:
    """One child process. A context manager: leaving it ends the process group for certain."""

    def __init__(self, device: str, environment: Mapping[str, str], log: Path, progress: Progress) -> None:
        self.device = device
        self.log = log
        self._progress = progress
        self._next = 0
        self._buffer = b""
        self._sending = self._cancel_after = False
        log.parent.mkdir(parents=True, exist_ok=True)
        down_read, self._down = os.pipe()
        self._up, up_write = os.pipe()
        try:
            with log.open("wb") as stream:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", BOOT, str(down_read), str(up_write), device],
                    pass_fds=(down_read, up_write),
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=stream,
                    env=dict(environment),
                    start_new_session=True,
                )
        finally:
            os.close(down_read)
            os.close(up_write)
        try:
            self.hello = self._hello()
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._down >= 0 and self._process.poll() is None

    # --- asking

    def ask(self, do: str, **fields: Any) -> Any:
        """Send a request and wait for its result; progress goes to whoever watches."""
        for message in self.stream(do, **fields):
            if message["type"] == "result":
                return message["value"]
        raise self._death()

    def stream(self, do: str, **fields: Any) -> Iterator[dict[str, Any]]:
        """Send a request and yield its token messages, then its result. Raises what the worker raised."""
        self._next += 1
        request = self._next
        self._send({"id": request, "do": do, **fields})
        while True:
            message = self._receive()
            if message.get("id") != request:
                continue  # the rest of an answer that was cancelled
            if message["type"] == "progress":
                self._progress(message["text"])
            elif message["type"] == "error":
                raise self._error(message)
            else:
                yield message
                if message["type"] == "result":
                    return

    def cancel(self) -> None:
        """Ask the running request to stop soon; its result says how far it got. A signal handler may call
        it, in the middle of sending too; where the worker is gone, its request says so."""
        if self._sending:
            self._cancel_after = True
        else:
            with contextlib.suppress(NpukitError):
                self._send({"do": "cancel", "id": self._next})

    # --- ending

    def close(self) -> None:
        """Let the worker end by itself, then make sure of it."""
        with contextlib.suppress(NpukitError):
            self._send({"do": "close"})
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End the worker's whole process group now."""
        if self._down < 0:
            return  # ended before: its number may be another process's by now
        self.abort()
        self._process.wait()
        for name in ("_down", "_up"):
            os.close(getattr(self, name))
            setattr(self, name, -1)

    def abort(self) -> None:
        """End its processes and leave the rest to whoever waits for it: for signal handlers and threads."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    # --- the wire

    def _send(self, message: Mapping[str, Any]) -> None:
        data = protocol.encode(message)
        self._sending = True
        try:
            while data:
                data = data[os.write(self._down, data) :]
        except OSError as error:
            raise self._death() from error
        finally:
            self._sending = False
        if self._cancel_after:
            self._cancel_after = False
            self.cancel()

    def _receive(self) -> dict[str, Any]:
        started = time.monotonic()
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._up], [], [], HEARTBEAT_S)
            if not ready:
                self._progress(f"still working, {time.monotonic() - started:.0f} s{self._patience()}")
                continue
            data = os.read(self._up, READ_BYTES)
            if not data:
                raise self._death()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return protocol.decode(line)

    def _patience(self) -> str:
        npu = self.device.startswith("npu")
        return " (the first NPU call compiles operators, which takes minutes)" if npu else ""

    def _hello(self) -> dict[str, Any]:
        message = self._receive()
        if message["type"] == "error":
            raise self._error(message)
        return message

    # --- dying

    def _error(self, message: Mapping[str, Any]) -> NpukitError:
        error = NpukitError(message["code"], **{"log": str(self.log), **message["fields"]})
        error.evidence = message.get("traceback", "")
        return error

    def _death(self) -> NpukitError:
        """What the worker's end means."""
        try:
            status = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            status = self._process.returncode
        tail = self.log_tail()
        if status == -signal.SIGKILL:
            error = NpukitError("worker.killed", log=str(self.log))
        elif status < 0:
            error = NpukitError("worker.crashed", signal=signal.Signals(-status).name, log=str(self.log))
        else:
            last = next((line for line in reversed(tail.splitlines()) if line.strip()), "")
            error = NpukitError("worker.ended", status=status, last=last.strip(), log=str(self.log))
        error.evidence = tail
        return error

    def log_tail(self) -> str:
        """The end of what the worker, torch and CANN printed."""
        with self.log.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - LOG_TAIL_BYTES))
            return stream.read().decode("utf-8", "replace")
