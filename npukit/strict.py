"""Read a parsed TOML table into frozen dataclasses, strictly, listing every fault instead of the first.

A field called ``path`` is never read: it belongs to whoever reads the file.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import typing
from typing import Any

KINDS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


def read_table(cls: type, table: dict[str, Any], where: str, faults: list[str]) -> Any:
    """``table`` as an instance of dataclass ``cls``; faults are appended, and a value is then unusable."""
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.name != "path"}
    values: dict[str, Any] = {}
    for key, raw in table.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            faults.append(f"{where}{key}: no such key{hint}")
            continue
        values[key] = _convert(hints[key], raw, f"{where}{key}", faults)
    for name, spec in fields.items():
        required = spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
        if required and name not in table:
            faults.append(f"{where}{name}: missing")
            values[name] = None
    return cls(**values)


def _convert(hint: Any, raw: Any, where: str, faults: list[str]) -> Any:
    if dataclasses.is_dataclass(hint):
        if isinstance(raw, dict):
            return read_table(typing.cast(type, hint), raw, where + ".", faults)
        faults.append(f"{where}: a table was expected, not {_kind(raw)}")
        return None
    origin = typing.get_origin(hint)
    if origin is tuple:
        item = typing.get_args(hint)[0]
        if not isinstance(raw, list):
            faults.append(f"{where}: a list was expected, not {_kind(raw)}")
            return ()
        return tuple(_convert(item, one, f"{where}[{i}]", faults) for i, one in enumerate(raw))
    if hint is Any:
        return _plain(raw, where, faults)
    if origin is dict and isinstance(raw, dict):
        item = typing.get_args(hint)[1]
        return {key: _convert(item, one, f"{where}.{key}", faults) for key, one in raw.items()}
    wanted = origin or hint
    if isinstance(raw, float) and not math.isfinite(raw):
        faults.append(f"{where}: a finite number was expected, not {raw}")
    if wanted is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if not isinstance(raw, wanted) or (isinstance(raw, bool) and wanted is not bool):
        faults.append(f"{where}: {_kind_of(wanted)} was expected, not {_kind(raw)}")
    return raw


def _plain(raw: Any, where: str, faults: list[str]) -> Any:
    """A value of any kind that JSON has as well: no date, no infinity, however deep."""
    if isinstance(raw, dict):
        return {key: _plain(one, f"{where}.{key}", faults) for key, one in raw.items()}
    if isinstance(raw, list):
        return [_plain(one, f"{where}[{i}]", faults) for i, one in enumerate(raw)]
    if not isinstance(raw, (str, int, float)) or (isinstance(raw, float) and not math.isfinite(raw)):
        faults.append(f"{where}: a text, a finite number, a list or a table was expected, not {raw}")
    return raw


def _kind_of(wanted: Any) -> str:
    return KINDS.get(wanted, "a date or a time")


def _kind(raw: Any) -> str:
    return f"{raw!r}" if isinstance(raw, (str, int, float, bool)) else _kind_of(type(raw))
