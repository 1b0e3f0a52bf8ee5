"""What the hubs share: a file that is there already, or in another tool's cache, is not downloaded again."""

from __future__ import annotations

import queue
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from npukit.download.address import Address, hash_as, mega
from npukit.download.file import download
from npukit.download.transfer import Transfer
from npukit.errors import NpukitError
from npukit.proof import FileProof
from npukit.sources.base import Brought, Job, Listing, RemoteFile
from npukit.sources.copies import link_copy

FILES_AT_ONCE = 4


def bring(listing: Listing, job: Job, address: Callable[[Listing, str], Address] | None) -> Brought:
    """Every file of the listing in ``job.directory``: kept, linked to a copy, or downloaded.

    ``address`` gives where a path is; None forbids downloads. Raises NpukitError ``fetch.*``.
    """
    try:
        proofs = {file.path: whole for file in listing.files if (whole := _here(listing, job, file))}
    except OSError as error:
        raise NpukitError(
            "fetch.unwritable", path=str(job.directory), reason=error.strerror or str(error)
        ) from error
    missing = [file for file in listing.files if file.path not in proofs]
    if missing and address is None:
        raise NpukitError("fetch.offline", model=job.want.model)
    parts = job.directory.parent / "parts"
    job.transfer.total = sum(file.size for file in missing)
    _room(parts, missing, job.transfer)
    if missing:
        job.say(f"{listing.origin}: {len(missing)} files to fetch, {mega(job.transfer.total)} MB")

    def one(file: RemoteFile) -> FileProof:
        assert address is not None
        target = job.directory / file.path
        part, began = _part(parts, file), time.monotonic()
        sha256 = download(lambda: address(listing, file.path), part, target, file.expected, job.transfer)
        rate = file.size / max(time.monotonic() - began, 1e-9)
        job.say(f"{file.path}: whole, {mega(file.size)} MB at {mega(rate)} MB/s")
        return FileProof(file.path, file.size, sha256, listing.origin, file.stated, target.stat().st_mtime_ns)

    for proof in _at_once(one, sorted(missing, key=lambda file: -file.size), job.transfer):
        proofs[proof.path] = proof
    if missing:
        job.say(f"in all {mega(job.transfer.received)} MB at {mega(job.transfer.rate)} MB/s")
    shutil.rmtree(parts, ignore_errors=True)
    return Brought(job.directory, tuple(proofs[file.path] for file in listing.files))


def _here(listing: Listing, job: Job, file: RemoteFile) -> FileProof | None:
    """The file when it lies whole in the directory, or is linked now to a copy."""
    target = job.directory / file.path
    if file.stated and target.exists():
        known = job.kept.file(file.path) if job.kept and job.kept.root == job.directory else None
        now = target.stat()
        if known and (known.sha256, known.size, known.mtime_ns) == (
            file.sha256,
            now.st_size,
            now.st_mtime_ns,
        ):
            return known
        job.say(f"{file.path}: checking what is there")
        if sha256 := hash_as(target, file.expected):
            origin = known.source if known and known.sha256 == sha256 else listing.origin
            return FileProof(file.path, file.size, sha256, origin, file.stated, now.st_mtime_ns)
    if file.stated or listing.source == "cache":
        return link_copy(file, target, job.want.copies)
    return None  # a size alone does not make a copy the same


def _part(parts: Path, file: RemoteFile) -> Path:
    return parts / f"{file.path}.{file.expected.key[:16] or 'unnamed'}"


def _room(parts: Path, missing: list[RemoteFile], transfer: Transfer) -> None:
    """Raises NpukitError ``fetch.disk-full`` when the files cannot fit."""
    need = sum(file.size for file in missing)
    need -= sum(part.stat().st_size for file in missing if (part := _part(parts, file)).exists())
    free = shutil.disk_usage(next(p for p in parts.parents if p.exists())).free
    if need > free:
        raise NpukitError(
            "fetch.disk-full",
            source=transfer.source,
            path=str(parts.parent),
            need=mega(need),
            free=mega(free),
        )


def _at_once(
    work: Callable[[RemoteFile], FileProof], files: list[RemoteFile], transfer: Transfer
) -> list[FileProof]:
    """Work on several files at once. The first error stops the others and is raised."""
    waiting: queue.SimpleQueue[RemoteFile] = queue.SimpleQueue()
    done: queue.SimpleQueue[FileProof | BaseException] = queue.SimpleQueue()
    for file in files:
        waiting.put(file)

    def run() -> None:
        while not transfer.stopped.is_set():
            try:
                file = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(work(file))
            except NpukitError as error:
                done.put(error)
            except BaseException as error:
                done.put(error)
                raise

    # Daemons, so that an interrupt need not wait for a connection that gives nothing.
    threads = [Thread(target=run, daemon=True) for _ in range(min(FILES_AT_ONCE, len(files)))]
    for thread in threads:
        thread.start()
    proofs: list[FileProof] = []
    try:
        while len(proofs) < len(files):
            result = done.get()
            if isinstance(result, BaseException):
                transfer.stopped.set()
                for thread in threads:  # the next source may continue the same parts
                    thread.join()
                raise result
            proofs.append(result)
    finally:
        transfer.stopped.set()
    return proofs
