"""What the worker keeps between requests: the device, and the session loaded last."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

from npukit.devices.base import Device
from npukit.session import LoadSpec, Session


class WorkerContext:
    """The context a measure is given. At most one model is in memory: asking for another drops it first."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.progress: Callable[[str], None] = lambda text: None
        self.token: Callable[[str], None] = lambda text: None
        self.cancelled = threading.Event()
        self._session: Session | None = None

    def session(self, load: dict[str, Any]) -> Session:
        """The session that ``load`` describes, loaded now or still there."""
        spec = LoadSpec(**load)
        if self._session is not None and self._session.spec == spec:
            return self._session
        self.drop()
        self.progress(f"loading the model in {spec.dtype} on {self.device.name}")
        self._session = Session.load(spec, self.device)
        return self._session

    def drop(self) -> None:
        """Free the loaded model's memory."""
        if self._session is not None:
            self._session.close()
            self._session = None
            gc.collect()
            self.device.empty_cache()
