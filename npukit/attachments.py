"""Pictures and videos as users name them: files, directories, addresses, data URIs. No torch."""

from __future__ import annotations

import base64
import binascii
import hashlib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

from npukit.errors import NpukitError
from npukit.workspace import write_atomic

MAX_BYTES = 50_000_000
TIMEOUT_S = 30.0
Part = dict[str, Any]


def is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def pictures(given: str, downloads: Path) -> list[Part]:
    """A file, an address, or all pictures of a directory in the order of their names, each proven readable.

    What comes from an address is kept in ``downloads``. Raises NpukitError ``picture.*``.
    """
    if is_url(given):
        return [_picture(keep(download(given), downloads))]
    path = Path(given).expanduser()
    if path.is_dir():
        return [_picture(each) for each in _of_directory(path)]
    return [_picture(path)]


def video(given: str, **sampling: Any) -> Part:
    """``sampling`` are max_frames, fps and stack_frames; None leaves one as it is."""
    path = Path(given).expanduser()
    if not path.is_file():
        raise NpukitError("video.missing", path=given)
    chosen = {name: value for name, value in sampling.items() if value is not None}
    return {"type": "video", "path": str(path.resolve()), **chosen}


def keep(data: bytes, folder: Path) -> Path:
    """A file of that content, named by it."""
    path = folder / hashlib.sha256(data).hexdigest()[:32]
    if not path.is_file():
        write_atomic(path, data)
    return path


def data_uri(uri: str) -> bytes:
    """The content of ``data:image/png;base64,...``. Raises NpukitError ``picture.damaged``."""
    head, _, body = uri.partition(",")
    if not head.endswith(";base64"):
        raise NpukitError("picture.damaged", path="the data URI", reason="it is not base64")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NpukitError("picture.damaged", path="the data URI", reason=str(error)) from error


def download(url: str, allowed: Callable[[str], bool] = lambda host: True) -> bytes:
    """What is at ``url``, up to 50 MB; every host on the way, redirects included, must be ``allowed``."""

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *arguments: Any) -> Any:
            _check_host(arguments[-1], allowed)
            return super().redirect_request(*arguments)

    _check_host(url, allowed)
    request = urllib.request.Request(url, headers={"User-Agent": "npukit"})
    try:
        with urllib.request.build_opener(Redirects).open(request, timeout=TIMEOUT_S) as answer:
            data: bytes = answer.read(MAX_BYTES + 1)
    except (OSError, HTTPException, ValueError) as error:
        reason = str(getattr(error, "reason", "") or error)
        raise NpukitError("picture.no-download", url=url, reason=reason) from error
    if len(data) > MAX_BYTES:
        raise NpukitError("picture.no-download", url=url, reason=f"more than {MAX_BYTES:,} bytes")
    return data


def _check_host(url: str, allowed: Callable[[str], bool]) -> None:
    host = urllib.parse.urlsplit(url).hostname or ""
    if not is_url(url) or not allowed(host):
        raise NpukitError("picture.host-not-allowed", url=url, host=host)


def _picture(path: Path) -> Part:
    from npukit.tasks.pictures import open_picture

    open_picture(path)  # said now, not after the model is loaded
    return {"type": "image", "path": str(path.resolve())}


def _of_directory(folder: Path) -> list[Path]:
    from npukit.tasks.pictures import SUFFIXES

    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    if not found:
        raise NpukitError("picture.none-in-directory", path=str(folder), suffixes=", ".join(SUFFIXES))
    return found
