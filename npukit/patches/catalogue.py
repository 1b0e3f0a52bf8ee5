"""Every patch by name, and the ones a recipe chooses."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from npukit.errors import NpukitError
from npukit.patches import (
    architectures,
    config_attributes,
    config_derive,
    config_keys,
    dtype_key,
    rebuild_buffers,
    register_class,
    rope_keys,
    special_tokens,
    tokenizer_class,
    weight_keys,
)
from npukit.patches.base import Patch
from npukit.strict import read_table

PATCHES: dict[str, Patch] = {
    each.PATCH.name: each.PATCH
    for each in (
        tokenizer_class,
        special_tokens,
        dtype_key,
        rope_keys,
        rebuild_buffers,
        architectures,
        config_keys,
        config_derive,
        weight_keys,
        register_class,
        config_attributes,
    )
}


@dataclass(frozen=True)
class Chosen:
    """A patch with its options, as an instance of its own dataclass and as the recipe wrote them."""

    patch: Patch
    options: Any
    written: Mapping[str, Any]


def choose(entries: Iterable[Mapping[str, Any]]) -> tuple[Chosen, ...]:
    """The standing patches that ``entries`` do not name themselves, then ``entries`` in their order.

    Raises patch.wrong listing every fault.
    """
    entries = list(entries)
    if wrong := faults(entries):
        raise NpukitError("patch.wrong", faults="\n".join(f"- {each}" for each in wrong))
    named = {entry["name"] for entry in entries}
    standing = [{"name": name} for name, patch in PATCHES.items() if patch.standing and name not in named]
    return tuple(_chosen(entry, []) for entry in [*standing, *entries])


def faults(entries: Iterable[Mapping[str, Any]], where: str = "patches") -> list[str]:
    """What is wrong with a recipe's ``patches``, in words."""
    found: list[str] = []
    for index, entry in enumerate(entries):
        name = entry.get("name")
        if name not in PATCHES:
            near = difflib.get_close_matches(str(name), PATCHES, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else f"; there are {', '.join(PATCHES)}"
            found.append(f"{where}[{index}].name: no patch is called {name!r}{hint}")
        else:
            _chosen(entry, found, f"{where}[{index}].")
    return found


def _chosen(entry: Mapping[str, Any], found: list[str], where: str = "") -> Chosen:
    patch = PATCHES[entry["name"]]
    written = {key: value for key, value in entry.items() if key != "name"}
    return Chosen(patch, read_table(patch.options, written, where, found), written)
