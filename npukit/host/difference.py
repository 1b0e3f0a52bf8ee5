"""How two machines differ, by their `npukit env --json` documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npukit.errors import NpukitError
from npukit.host.report import FORMAT
from npukit.workspace import read_json

# What changes from one minute to the next on one machine.
PASSING = (
    "system.memory_available_bytes",
    "system.disk_free_bytes",
    ".seconds",
    ".temperature_c",
    ".aicore_percent",
    ".memory_used_bytes",
    ".processes",
    ".gflops",
    ".copy_gb_per_s",
    ".traceback",
)
ABSENT = "(none)"


@dataclass(frozen=True)
class Difference:
    """A fact by its dotted name, or a verdict by its id, on either side."""

    name: str
    a: str
    b: str


def read_report(path: Path) -> dict[str, Any]:
    """A stored document. Raises NpukitError ``env.not-a-report``."""
    found = read_json(path)
    if (
        not isinstance(found, dict)
        or found.get("format") != FORMAT
        or "verdicts" not in found
        or "facts" not in found
    ):
        raise NpukitError("env.not-a-report", path=str(path))
    return found


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """Facts first, then verdicts whose level differs."""
    facts = _differing(_flat(a["facts"]), _flat(b["facts"]))
    return facts + _differing(_levels(a), _levels(b))


def _differing(a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    names = dict.fromkeys((*a, *b))
    pairs = (Difference(name, a.get(name, ABSENT), b.get(name, ABSENT)) for name in names)
    return [pair for pair in pairs if pair.a != pair.b]


def _levels(document: Mapping[str, Any]) -> dict[str, str]:
    return {f"verdict {verdict['id']}": verdict["level"] for verdict in document["verdicts"]}


def _flat(value: Any, name: str = "") -> dict[str, str]:
    if isinstance(value, Mapping):
        items = [(f"{name}.{key}" if name else str(key), item) for key, item in value.items()]
    elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        items = [(f"{name}[{_label(item, index)}]", item) for index, item in enumerate(value)]
    elif name.endswith(PASSING):
        return {}
    else:
        return {name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)}
    return {key: text for path, item in items for key, text in _flat(item, path).items()}


def _label(item: Any, index: int) -> str:
    """What an entry of a list is called, so that two machines' lists line up."""
    for key in ("module", "device", "package", "name"):
        if isinstance(item, Mapping) and isinstance(item.get(key), str) and item[key]:
            return f"{item[key]}" if key != "name" or "npu_id" not in item else str(index)
    return str(index)
