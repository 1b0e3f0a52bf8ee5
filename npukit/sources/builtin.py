"""A model that ships inside npukit: proven where it is installed, nothing is copied."""

from __future__ import annotations

from pathlib import Path

from npukit.builtin import model_dir
from npukit.errors import NpukitError
from npukit.sources.base import Brought, Job, Listing, Want
from npukit.sources.local import list_directory, prove_in_place


class Source:
    name = "builtin"

    def listing(self, want: Want) -> Listing:
        return list_directory(self.name, _directory(want.repo), want)

    def address(self, listing: Listing, path: str) -> None:
        return None

    def bring(self, listing: Listing, job: Job) -> Brought:
        return prove_in_place(listing, job)


def _directory(name: str) -> Path:
    try:
        return model_dir(name)
    except KeyError as error:
        raise NpukitError("fetch.no-directory", path=f"builtin:{name}") from error
