"""Copies that other tools left on this machine, when no hub may be asked or none answers."""

from __future__ import annotations

from npukit.sources import hub
from npukit.sources.base import Brought, Job, Listing, Want
from npukit.sources.copies import copies_listing


class Source:
    name = "cache"

    def listing(self, want: Want) -> Listing:
        return copies_listing(want)

    def address(self, listing: Listing, path: str) -> None:
        return None

    def bring(self, listing: Listing, job: Job) -> Brought:
        return hub.bring(listing, job, None)
