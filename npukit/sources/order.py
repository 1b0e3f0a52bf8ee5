"""Sources are tried in the order of the recipe, or the one asked for; each change is said with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from npukit.errors import NpukitError
from npukit.recipe import SOURCES, Recipe
from npukit.sources import Listing, Source, Want, source
from npukit.sources.copies import copies_listing, find_copies

CACHE = "cache"
HUBS = ("huggingface", "modelscope", "gitcode")
# Another source would fail in the same way.
OURS = ("fetch.disk-full", "fetch.unwritable", "fetch.unreadable", "fetch.convert", "workspace.unwritable")
Given = TypeVar("Given")


@dataclass(frozen=True)
class FetchOptions:
    """What a user asks of one fetch; empty means as the recipe says. ``stall_s`` seconds without a byte
    are an error. ``copies_first``: a copy on this machine is taken without asking a hub whether it is the
    newest; so for every command but ``npukit fetch``."""

    source: str = ""
    revision: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    offline: bool = False
    deep: bool = False
    force: bool = False
    copies_first: bool = True
    stall_s: float = 30.0
    token: str = field(default="", repr=False)


def first_that_gives(
    recipe: Recipe,
    options: FetchOptions,
    scratch: Path,
    say: Callable[[str], None],
    take: Callable[[Source, Listing, Want], Given],
) -> Given:
    """What ``take`` gives with the first source that lists the model and lets it be taken.

    Raises the only source's NpukitError, or ``fetch.no-source`` with every source's reason.
    """
    failures: list[tuple[str, NpukitError]] = []
    names = attempts(recipe, options)
    for index, name in enumerate(names):
        wanted = want(recipe, options, name, scratch / name)
        wanted.scratch.mkdir(parents=True, exist_ok=True)
        try:
            place = source(name)
            listing = place.listing(wanted)
            if name == CACHE:
                say(f"taking the copy in {listing.repo}")
            return take(place, listing, wanted)
        except NpukitError as error:
            if error.code in OURS or not error.code.startswith("fetch."):
                raise
            if name == CACHE and not options.offline:
                continue  # that there is no copy is no failure
            failures.append((name, error))
            following = names[index + 1 :]
            say(_told(name, error) + (f"; trying {following[0]}" if following else ""))
    if len(failures) == 1:
        raise failures[0][1]
    reasons = "\n".join(_told(name, error) for name, error in failures)
    raise NpukitError("fetch.no-source", model=recipe.name, reasons=reasons)


def _told(name: str, error: NpukitError) -> str:
    """The error after the name of its source, once."""
    return f"{name}: {str(error).removeprefix(f'{name}: ')}"


def attempts(recipe: Recipe, options: FetchOptions) -> tuple[str, ...]:
    """The sources to try, and when copies that other tools left are looked for: first, last, or only."""
    names = sources_of(recipe, options)
    if not any(name in HUBS for name in names):
        return names
    if options.offline:
        return tuple(dict.fromkeys(CACHE if name in HUBS else name for name in names))
    if options.force:
        return names
    return (CACHE, *names) if options.copies_first else (*names, CACHE)


def has_copy(recipe: Recipe) -> bool:
    """Whether a copy on this machine has a config and weights; only names are read."""
    try:
        copies_listing(want(recipe, FetchOptions(), CACHE, Path()))
    except NpukitError:
        return False
    return True


def sources_of(recipe: Recipe, options: FetchOptions) -> tuple[str, ...]:
    """The sources to try, first to last. Raises NpukitError for one that there is not."""
    if options.source and options.source not in SOURCES:
        raise NpukitError("fetch.unknown-source", source=options.source, known=", ".join(SOURCES))
    names = (options.source,) if options.source else recipe.source.only or recipe.source.order
    for name in names:
        if not getattr(recipe.source, name):
            raise NpukitError("fetch.no-id", source=name, model=recipe.name)
    return names


def ids(recipe: Recipe) -> dict[str, Any]:
    """What the recipe calls the model at each source."""
    return {name: value for name in SOURCES if (value := getattr(recipe.source, name))}


def want(recipe: Recipe, options: FetchOptions, name: str, scratch: Path) -> Want:
    """What is asked of the source called ``name``."""
    own = getattr(recipe.source, name, "")
    revision = options.revision or recipe.source.revision
    allowed = recipe.source.only or SOURCES
    hubs = {hub: getattr(recipe.source, hub) for hub in HUBS if hub in allowed}
    return Want(
        model=recipe.name,
        repo=own if isinstance(own, str) else str(own.get("package", "")),
        scratch=scratch,
        revision=revision,
        include=options.include or recipe.source.include,
        exclude=options.exclude or recipe.source.exclude,
        details={} if isinstance(own, str) else own,
        copies=tuple(find_copies({k: v for k, v in hubs.items() if v}, recipe.name, revision)),
        token=options.token,
    )


def asked(recipe: Recipe, options: FetchOptions) -> dict[str, Any]:
    """What a proof remembers of the question it answers."""
    return {
        "ids": ids(recipe),
        "source": options.source,
        "revision": options.revision or recipe.source.revision,
        "include": list(options.include or recipe.source.include),
        "exclude": list(options.exclude or recipe.source.exclude),
    }


def answers(before: dict[str, Any], recipe: Recipe, options: FetchOptions) -> bool:
    """Whether files fetched for ``before`` serve now; an option not given asks for nothing in particular."""
    now = asked(recipe, options)
    if not options.source:
        now = {**now, "source": before.get("source")}
    if not options.revision:
        now = {**now, "revision": before.get("revision")}
    return before == now
