"""Where models come from, one source per file."""

from __future__ import annotations

import importlib

from npukit.sources.base import Brought, Listing, RemoteFile, Source, Want

__all__ = ["Brought", "Listing", "RemoteFile", "Source", "Want", "source"]


def source(name: str) -> Source:
    """The source called ``name``, one of :data:`npukit.recipe.SOURCES`; its client is imported only now."""
    made: Source = importlib.import_module(f"npukit.sources.{name}").Source()
    return made
