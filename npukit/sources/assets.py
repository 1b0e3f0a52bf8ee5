"""A recipe's own assets, demo pictures say: by address and sha256, resumed and compared like weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from npukit.download.address import Address, Expected, hash_as, mega
from npukit.errors import NpukitError
from npukit.recipe import Recipe
from npukit.sources.base import safe_path
from npukit.sources.order import FetchOptions


def fetch_assets(recipe: Recipe, directory: Path, options: FetchOptions, say: Callable[[str], None]) -> None:
    """Have every asset of the recipe below ``directory``. Raises NpukitError ``fetch.*``."""
    for asset in recipe.assets:
        target = directory / safe_path(asset.name, "the recipe")
        expected = Expected(asset.name, asset.bytes, asset.sha256)
        if hash_as(target, expected):
            continue
        if options.offline:
            raise NpukitError("fetch.offline", model=f"{recipe.name}'s {asset.name}")
        _download(asset.url, target, expected, options, say)


def _download(
    url: str, target: Path, expected: Expected, options: FetchOptions, say: Callable[[str], None]
) -> None:
    from npukit.download.file import download
    from npukit.download.transfer import Transfer

    transfer = Transfer("the recipe's address", say, total=expected.size, stall_s=options.stall_s)
    part = target.with_name(f".{target.name}.{expected.key[:16]}.part")
    with transfer.session:
        download(lambda: Address(url), part, target, expected, transfer)
    say(f"{expected.path}: whole, {mega(expected.size)} MB")
