"""The bytes of one file in order, over one connection or several."""

from __future__ import annotations

import errno
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import requests
import urllib3

from npukit.download.address import Address, Expected, cause_of
from npukit.download.transfer import CONNECT_SECONDS, Transfer, as_given
from npukit.errors import NpukitError

CONNECTIONS = 4
READ_BYTES = 128 << 10
# A range is what a connection brings in about SEGMENT_SECONDS: a kill loses no more than that.
SEGMENT_SECONDS = 2.0
MIN_SEGMENT_BYTES = 2 << 20
MAX_SEGMENT_BYTES = 16 << 20
TRIES = 5  # consecutive ones without a byte
BUSY_STATUS = (408, 429, 500, 502, 503, 504)


class Reader:
    """The bytes of one file in order, from several connections when the server serves ranges."""

    def __init__(self, address: Callable[[], Address], expected: Expected, transfer: Transfer) -> None:
        self.resolve = address
        self.expected = expected
        self.transfer = transfer
        self.direct: Address | None = None  # where a redirect led; spares the hub one request per range

    def pieces(self, begin: int) -> Iterator[bytes]:
        size = self.expected.size
        at = min(begin + MIN_SEGMENT_BYTES, size)
        first = self._open(begin, at)
        if first.status_code == 200:  # no ranges: everything comes, what is there already is passed over
            yield from self._whole(first, begin)
            return
        ahead = deque([_Segment(self, begin, at, first)])
        try:
            while ahead:
                while at < size and len(ahead) < CONNECTIONS:
                    end = min(at + self._segment_bytes(), size)
                    ahead.append(_Segment(self, at, end))
                    at = end
                yield from ahead[0].pieces()
                ahead.popleft()
        finally:
            for segment in ahead:
                segment.cancelled = True

    def _segment_bytes(self) -> int:
        fair = int(self.transfer.rate * SEGMENT_SECONDS / CONNECTIONS)
        return max(MIN_SEGMENT_BYTES, min(fair, MAX_SEGMENT_BYTES))

    def _whole(self, response: requests.Response, begin: int) -> Iterator[bytes]:
        """From a server without ranges: on a lost connection everything comes once more."""
        given, tries = begin, 0
        while True:
            at, before = 0, given
            try:
                with response:
                    while at < self.expected.size and (data := response.raw.read(READ_BYTES)):
                        at += len(data)
                        if at > given:
                            yield data[len(data) - (at - given) :]
                            given = at
                if given >= self.expected.size:
                    return
                failure = self.lost("closed before the end")
            except (urllib3.exceptions.HTTPError, OSError) as error:
                failure = self.trouble(error)
            tries = tries + 1 if given == before else 1
            if failure.code == "fetch.stalled" or tries >= TRIES:
                raise failure
            self.pause(tries)
            response = self._open(0, self.expected.size)

    @property
    def shown(self) -> str:
        return (self.direct or self.resolve()).shown

    def _open(self, begin: int, end: int) -> requests.Response:
        """A response whose body is the bytes asked for (206) or, when ``begin`` opens the file, all (200)."""
        tries = 0
        while True:
            tries += 1
            try:
                response = self._request(begin, end)
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
                refused = isinstance(error, requests.ConnectionError) and tries >= 2
                if refused or tries >= TRIES or isinstance(error, requests.Timeout):
                    raise self.trouble(error) from error
                response = None
            if response is not None:
                if response.status_code in (200, 206):
                    return self._checked(response, begin, end)
                response.close()
                signed_out = self.direct is not None and response.status_code in (401, 403, 404, 410)
                self.direct = None
                if not signed_out and (response.status_code not in BUSY_STATUS or tries >= TRIES):
                    raise self._refusal(response)
            self.pause(tries)

    def _request(self, begin: int, end: int) -> requests.Response:
        asked = self.direct or self.resolve()
        response = self.transfer.session.get(
            asked.url,
            headers={**asked.headers, "Range": f"bytes={begin}-{end - 1}", "Accept-Encoding": "identity"},
            auth=as_given,
            stream=True,
            timeout=(CONNECT_SECONDS, self.transfer.stall_s),
        )
        if urlsplit(response.url).netloc != urlsplit(asked.url).netloc:
            self.direct = Address(response.url)  # on another host the credentials stay behind
        return response

    def _checked(self, response: requests.Response, begin: int, end: int) -> requests.Response:
        size = self.expected.size
        if response.status_code == 206:
            span, _, total = response.headers.get("Content-Range", "").partition("/")
            right = span == f"bytes {begin}-{end - 1}" and total in (str(size), "*")
        else:
            right = response.headers.get("Content-Length", str(size)) == str(size)
        if right:
            return response
        seen = response.headers.get("Content-Range") or response.headers.get("Content-Length", "nothing")
        response.close()
        raise NpukitError(
            "fetch.changed",
            source=self.transfer.source,
            path=self.expected.path,
            stated=f"{size:,}",
            seen=seen,
        )

    def _refusal(self, response: requests.Response) -> NpukitError:
        status = response.status_code
        if status in (401, 403):
            return NpukitError(
                "fetch.denied", source=self.transfer.source, repo=self.expected.path, status=status
            )
        if status in (404, 410, 416):
            return NpukitError(
                "fetch.changed",
                source=self.transfer.source,
                path=self.expected.path,
                stated=f"{self.expected.size:,}",
                seen=f"HTTP {status}",
            )
        return self.lost(f"HTTP {status}")

    def trouble(self, error: Exception) -> NpukitError:
        """The words for a connection that failed."""
        stalled = isinstance(error, (requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError))
        if stalled:
            return NpukitError(
                "fetch.stalled",
                source=self.transfer.source,
                path=self.expected.path,
                seconds=f"{self.transfer.stall_s:g}",
                endpoint=self.shown,
            )
        return self.lost(cause_of(error))

    def lost(self, reason: str) -> NpukitError:
        return NpukitError(
            "fetch.unreachable", source=self.transfer.source, endpoint=self.shown, reason=reason
        )

    def pause(self, tries: int) -> None:
        self.transfer.stopped.wait(min(0.2 * 2**tries, 10.0))
        self.transfer.go_on()


class _Segment:
    """One range, read by a thread of its own into a queue that holds all of it."""

    def __init__(
        self, reader: Reader, begin: int, end: int, response: requests.Response | None = None
    ) -> None:
        self.reader = reader
        self.begin = begin
        self.end = end
        self.queue: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()
        self.cancelled = False
        # A daemon, so that an interrupt need not wait for a connection that gives nothing.
        threading.Thread(target=self._run, args=(response,), daemon=True).start()

    def pieces(self) -> Iterator[bytes]:
        left = self.end - self.begin
        while left:
            item = self.queue.get()
            if isinstance(item, BaseException):
                raise item
            left -= len(item)
            yield item

    def _run(self, response: requests.Response | None) -> None:
        try:
            self._read(response)
            self.reader.transfer.go_on()
        except NpukitError as error:
            self.queue.put(error)
        except BaseException as error:  # the reader must not wait for ever
            self.queue.put(error)
            raise

    def _read(self, response: requests.Response | None) -> None:
        at, tries = self.begin, 0
        while at < self.end:
            response = response or self.reader._open(at, self.end)
            before = at
            try:
                with response:
                    if response.status_code != 206:
                        raise OSError(errno.EPROTO, "the server stopped serving ranges")
                    while at < self.end and (data := response.raw.read(min(READ_BYTES, self.end - at))):
                        self.queue.put(data)
                        at += len(data)
                        if self.cancelled or self.reader.transfer.stopped.is_set():
                            return
                    if at < self.end:
                        raise ConnectionResetError(errno.ECONNRESET, "closed before the end")
            except (urllib3.exceptions.HTTPError, OSError) as error:
                failure = self.reader.trouble(error)
                tries = tries + 1 if at == before else 1
                if failure.code == "fetch.stalled" or tries >= TRIES:
                    raise failure from error
                self.reader.pause(tries)
            response = None
