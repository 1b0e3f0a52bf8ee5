"""What the files of one fetch share: connections, patience, and the account of bytes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.cookiejar import DefaultCookiePolicy

import requests
import urllib3

from npukit.download.address import PIECE_BYTES, Address, mega
from npukit.errors import NpukitError

CONNECT_SECONDS = 10.0
REPORT_SECONDS = 5.0


class Transfer:
    """One fetch's connections, patience and account of bytes; shared by the threads of all files."""

    def __init__(
        self, source: str, progress: Callable[[str], None], total: int = 0, stall_s: float = 30.0
    ) -> None:
        self.source = source
        self.total = total
        self.stall_s = stall_s
        self.received = 0
        self.stopped = threading.Event()
        self.session = requests.Session()
        # A cookie that a server sets would take the place of the login in an address's own Cookie header.
        self.session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=64))
        self.session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=64))
        self._progress = progress
        self._lock = threading.Lock()
        self._began = self._reported = time.monotonic()

    def say(self, text: str) -> None:
        self._progress(text)

    def go_on(self) -> None:
        """Raises NpukitError ``fetch.stopped`` once another file has failed."""
        if self.stopped.is_set():
            raise NpukitError("fetch.stopped", source=self.source)

    def count(self, path: str, size: int) -> None:
        """Account for ``size`` bytes that just came; now and then says how fast."""
        with self._lock:
            self.received += size
            now = time.monotonic()
            if now - self._reported < REPORT_SECONDS:
                return
            self._reported = now
        rate = self.rate
        left = (self.total - self.received) / rate if rate else 0.0
        done = f"{mega(self.received)} of {mega(self.total)} MB"
        self.say(f"{path}: in all {done}, {mega(rate)} MB/s, {left:.0f} s left")

    @property
    def rate(self) -> float:
        """Bytes per second since the transfer began."""
        return self.received / max(time.monotonic() - self._began, 1e-9)


def measure_rate(address: Address, transfer: Transfer, seconds: float = 2.0, limit: int = 8 << 20) -> float:
    """Bytes per second over the first bytes of a file; 0.0 when it cannot be had."""
    began, got = time.monotonic(), 0
    try:
        with transfer.session.get(
            address.url,
            headers={**address.headers, "Range": f"bytes=0-{limit - 1}", "Accept-Encoding": "identity"},
            auth=as_given,
            stream=True,
            timeout=(CONNECT_SECONDS, transfer.stall_s),
        ) as response:
            if response.status_code not in (200, 206):
                return 0.0
            while got < limit and time.monotonic() - began < seconds:
                data = response.raw.read(PIECE_BYTES // 16)
                if not data:
                    break
                got += len(data)
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError):
        return 0.0
    return got / max(time.monotonic() - began, 1e-9)


def as_given(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps requests from putting ~/.netrc's credentials in the place of ours."""
    return request
