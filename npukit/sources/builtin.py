"""A model that ships inside npukit: proven where it is installed, nothing is copied."""

from __future__ import annotations

from pathlib import Path

from npukit.sources.base import Brought, Listing, Progress, Want
from npukit.sources.local import list_directory, prove_in_place

BUILTIN = Path(__file__).parents[1] / "builtin"


class Source:
    name = "builtin"

    def listing(self, want: Want) -> Listing:
        return list_directory(self.name, BUILTIN / want.repo, want)

    def bring(self, listing: Listing, directory: Path, progress: Progress) -> Brought:
        return prove_in_place(listing, progress)
