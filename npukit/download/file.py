"""One file: continue the part that is there, compare, move into place."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from npukit.download.address import PIECE_BYTES, Address, Expected, Hashes, mega
from npukit.download.reader import Reader
from npukit.download.transfer import Transfer
from npukit.errors import NpukitError


def download(
    address: Callable[[], Address], part: Path, target: Path, expected: Expected, transfer: Transfer
) -> str:
    """Have the file at ``target``; its sha256. ``part`` is kept when the connection is lost, for a next time.

    Raises NpukitError ``fetch.stalled``, ``unreachable``, ``denied``, ``changed``, ``corrupt``,
    ``disk-full``, ``unwritable``.
    """
    resumed = bool(expected.key) and part.exists()
    for again in (True, False):
        try:
            part.parent.mkdir(parents=True, exist_ok=True)
            hashes = _fill(address, part, expected, transfer)
            stated, seen = hashes.disagreement(expected)
            if not stated:
                target.parent.mkdir(parents=True, exist_ok=True)
                part.replace(target)
                return hashes.sha256.hexdigest()
            part.unlink()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                need = mega(expected.size)
                raise NpukitError(
                    "fetch.disk-full", source=transfer.source, path=str(part.parent), need=need, free="0"
                ) from error
            raise NpukitError(
                "fetch.unwritable", path=str(target.parent), reason=error.strerror or str(error)
            ) from error
        if not (again and resumed):
            break
        transfer.say(f"{expected.path}: what an earlier run had left was wrong; from the beginning")
    raise NpukitError("fetch.corrupt", source=transfer.source, path=expected.path, stated=stated, seen=seen)


def _fill(address: Callable[[], Address], part: Path, expected: Expected, transfer: Transfer) -> Hashes:
    hashes = Hashes(expected)
    with part.open("a+b" if expected.key else "w+b") as stream:
        stream.seek(0)
        while data := stream.read(PIECE_BYTES):
            hashes.update(data)
        begin = stream.tell()
        if begin > expected.size:
            stream.truncate(0)
            hashes, begin = Hashes(expected), 0
        elif begin:
            transfer.say(f"{expected.path}: resumed after {mega(begin)} MB")
        if begin < expected.size:
            for data in Reader(address, expected, transfer).pieces(begin):
                hashes.update(data)
                stream.write(data)
                transfer.count(expected.path, len(data))
                transfer.go_on()
    return hashes
