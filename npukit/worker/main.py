"""The child: opens the device once, then answers requests until it is told to close or its front is gone."""

from __future__ import annotations

import importlib
import os
import queue
import re
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from npukit.errors import NpukitError
from npukit.worker import protocol

REPORTED = ("torch", "torch_npu", "transformers")
# what transformers says, 4.49 to 5.x, where the model's files are at fault and not the code that loads them
# 507xxx: the card, its driver or a kernel on it failed (torch_npu/csrc/core/npu/NPUErrorCodes.h)
DEVICE_FAILED = re.compile(r"error code is 507\d{3}\b")
MODEL_FAULTS = {
    "contains custom code which must be executed": "load.own-code",
    "does not recognize this architecture": "load.unknown-type",
    "Couldn't instantiate the backend tokenizer": "load.no-tokenizer",
}


class Wire:
    """The worker's end of the descriptors. Requests queue up; a cancel acts at once."""

    def __init__(self, down: int, up: int) -> None:
        self._down, self._up = down, up
        self._sending = threading.Lock()
        self.requests: queue.Queue[dict[str, Any]] = queue.Queue()
        self._cancels: dict[int, threading.Event] = {}  # of requests that wait or run

    def listen(self) -> None:
        """Read requests until the front closes its end: then there is nobody to work for."""
        with os.fdopen(self._down, "rb") as stream:
            for line in stream:
                message = protocol.decode(line)
                if message["do"] == "cancel":
                    if message["id"] in self._cancels:
                        self._cancels[message["id"]].set()
                elif message["do"] == "close":
                    break
                else:
                    self._cancels[message["id"]] = threading.Event()
                    self.requests.put(message)
        os._exit(0)

    def take(self) -> tuple[dict[str, Any], threading.Event]:
        """The next request, and whether it is cancelled, which may be so before it starts."""
        request = self.requests.get()
        return request, self._cancels[request["id"]]

    def done(self, number: int) -> None:
        del self._cancels[number]

    def send(self, **message: Any) -> None:
        data = protocol.encode(message)
        with self._sending:
            while data:
                data = data[os.write(self._up, data) :]


def main() -> None:
    """``down up device`` on the command line: two descriptors and a device's name."""
    down, up, device_name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    wire = Wire(down, up)
    threading.Thread(target=wire.listen, daemon=True).start()
    try:
        context = _open(device_name)
    except Exception as error:  # noqa: BLE001 (the front explains it)
        wire.send(type="error", **_described(error, device_name))
        return
    wire.send(type="hello", versions=_versions(), device=dict(context.device.info()))
    while True:
        request, cancelled = wire.take()
        context.cancelled = cancelled
        _answer(wire, context, request)
        wire.done(request["id"])


def _open(device_name: str) -> Any:
    from npukit.devices.base import open_device
    from npukit.devices.name import parse_device
    from npukit.worker.context import WorkerContext

    return WorkerContext(open_device(parse_device(device_name)))


def _answer(wire: Wire, context: Any, request: dict[str, Any]) -> None:
    number = request["id"]
    context.progress = lambda text: wire.send(id=number, type="progress", text=text)
    context.token = lambda text: wire.send(id=number, type="token", text=text)
    try:
        measure = importlib.import_module(f"npukit.measures.{request['do']}").measure
        wire.send(id=number, type="result", value=measure(context, request))
    except Exception as error:  # noqa: BLE001 (the front explains it)
        wire.send(id=number, type="error", **_described(error, str(context.device.name)))


def _described(error: Exception, device: str) -> dict[str, Any]:
    """An exception as the code and fields of an error message."""
    trace = traceback.format_exc()
    sys.stderr.write(trace)
    if isinstance(error, NpukitError):
        return {"code": error.code, "fields": protocol.plain(error.fields), "traceback": trace}
    text = str(error).strip()
    if _out_of_memory(error):
        return {
            "code": "device.out-of-memory",
            "fields": {"device": device, "reason": text.splitlines()[0]},
            "traceback": trace,
        }
    if DEVICE_FAILED.search(text):
        return {
            "code": "device.failed",
            "fields": {"device": device, "reason": text.splitlines()[0]},
            "traceback": trace,
        }
    for words, code in MODEL_FAULTS.items():
        if words in text:
            return {"code": code, "fields": {"reason": text.splitlines()[0]}, "traceback": trace}
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno} ({frame.name})"
    fields = {"kind": type(error).__name__, "text": text, "where": where}
    return {"code": "worker.exception", "fields": fields, "traceback": trace}


def _out_of_memory(error: Exception) -> bool:
    text = str(error)
    return isinstance(error, MemoryError) or "out of memory" in text or "DefaultCPUAllocator" in text


def _versions() -> dict[str, str]:
    modules = {name: sys.modules.get(name) or _imported(name) for name in REPORTED}
    return {name: str(module.__version__) for name, module in modules.items() if module is not None}


def _imported(name: str) -> Any:
    return importlib.import_module(name) if name != "torch_npu" else None
