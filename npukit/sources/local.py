"""A directory on this machine: proven where it lies, nothing is copied."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from npukit.errors import NpukitError
from npukit.proof import hash_file
from npukit.sources.base import Brought, Job, Listing, RemoteFile, Want, checked


class Source:
    name = "local"

    def listing(self, want: Want) -> Listing:
        return list_directory(self.name, Path(want.repo).expanduser().absolute(), want)

    def address(self, listing: Listing, path: str) -> None:
        return None

    def bring(self, listing: Listing, job: Job) -> Brought:
        return prove_in_place(listing, job)


def list_directory(source: str, root: Path, want: Want) -> Listing:
    """The files below ``root`` that a loader reads."""
    if not root.is_dir():
        raise NpukitError("fetch.no-directory", path=str(root))
    found = []
    # Links to directories are not followed: a loader does not either, and a loop would never end.
    for folder, directories, names in os.walk(root):
        directories[:] = sorted(d for d in directories if not d.startswith("."))
        for name in names:
            file = Path(folder, name)
            if file.is_file():
                found.append(RemoteFile(file.relative_to(root).as_posix(), file.stat().st_size))
    return checked(source, dataclasses.replace(want, repo=str(root)), "", tuple(found))


def prove_in_place(listing: Listing, job: Job) -> Brought:
    """Hash the files of a directory listing."""
    root = Path(listing.repo)
    proofs = []
    for file in listing.files:
        job.say(f"{file.path} ({file.size:,} bytes)")
        try:
            proofs.append(hash_file(root, file.path, listing.source))
        except OSError as error:
            raise NpukitError(
                "fetch.unreadable", path=str(root / file.path), reason=error.strerror or str(error)
            ) from error
    return Brought(root, tuple(proofs))
