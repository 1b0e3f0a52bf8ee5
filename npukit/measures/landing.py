"""Whether what config.json says arrived on ``model.config``. Pure but for reading the classes' sources."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

# said by the file about itself, or decided by how the model is loaded
NOT_COMPARED = frozenset(
    {"transformers_version", "_name_or_path", "auto_map", "dtype", "torch_dtype", "attn_implementation",
     "_attn_implementation", "_attn_implementation_autoset", "quantization_config"}
)  # fmt: skip
# transformers 5 gathered the rotary settings in one table; before, they were keys of their own
GATHERED = {
    "rope_theta": ("rope_parameters", "rope_theta"),
    "partial_rotary_factor": ("rope_parameters", "partial_rotary_factor"),
    "rope_scaling": ("rope_parameters",),
    "rope_parameters": ("rope_scaling",),
}
RENAMED = {"type": "rope_type"}  # inside the rotary table
Aliases = Mapping[str, Mapping[str, str]]


def landing(
    written: Mapping[str, Any], landed: Mapping[str, Any], aliases: Aliases | None = None
) -> dict[str, Any]:
    """Compare the parsed config.json with ``model.config.to_dict()``, nested ones included.

    ``aliases`` are the classes' own other names of keys (``n_embd`` for ``hidden_size``), by the place of
    the config ("" is the outermost, "text_config." a nested one). Gives ``checked`` (number of values) and
    ``lost``: rows of key, written, landed.
    """
    rows = list(_compare(_plain(written), _plain(landed), "", aliases or {}))
    return {"checked": len(rows), "lost": [row for row in rows if row["written"] != row["landed"]]}


def _compare(
    written: Mapping[str, Any], landed: Mapping[str, Any], where: str, aliases: Aliases
) -> Iterator[dict[str, Any]]:
    for key, value in written.items():
        if key in NOT_COMPARED or value is None:  # null leaves the value to the class
            continue
        seen = _find(landed, key, value, aliases.get(where, {}))
        if isinstance(value, Mapping) and isinstance(seen, Mapping):
            yield from _compare(value, seen, f"{where}{key}.", aliases)
        else:
            yield {"key": f"{where}{key}", "written": value, "landed": seen}


def _find(landed: Mapping[str, Any], key: str, value: Any, aliases: Mapping[str, str]) -> Any:
    """The landed value of ``key``: under its own name, another name of the class, or the rotary table's."""
    if key == "num_labels" and "id2label" in landed:
        return len(landed["id2label"])
    paths = [
        (key,),
        *([(aliases[key],)] if key in aliases else []),
        *([GATHERED[key]] if key in GATHERED else []),
    ]
    paths += [(RENAMED[key],)] if key in RENAMED else []
    seen = [_look(landed, path) for path in paths]
    if key in GATHERED and isinstance(landed.get("rope_parameters"), Mapping):
        # one rotary table per kind of layer
        tables = [table for table in landed["rope_parameters"].values() if isinstance(table, Mapping)]
        seen += [_look(table, GATHERED[key][1:]) for table in tables]
    there = [one for one in seen if one is not None]
    return next((one for one in there if one == value), there[0] if there else None)


def _look(landed: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(landed, Mapping):
            return None
        landed = landed.get(step)
    return landed


def _plain(value: Any) -> Any:
    """As JSON would hold it: keys are texts, tuples are lists."""
    return json.loads(json.dumps(value, default=str))


def aliases_of(config: Any, where: str = "") -> dict[str, dict[str, str]]:
    """The other names of keys that a transformers config and the ones nested in it know."""
    found = {where: dict(getattr(config, "attribute_map", None) or {})}
    for name in getattr(config, "sub_configs", None) or {}:
        nested = getattr(config, name, None)
        if nested is not None:
            found.update(aliases_of(nested, f"{where}{name}."))
    return found


def unread(written: Mapping[str, Any], model: Any) -> list[str]:
    """Keys of config.json that no source of the model's classes, of its configs or of the library's base
    config so much as names: they land on ``model.config`` and nobody looks at them."""
    from transformers import PretrainedConfig

    classes = {type(module) for module in model.modules()} | {type(model.config), PretrainedConfig}
    modules = {cls.__module__ for cls in classes if not cls.__module__.startswith("torch.")}
    modules |= {name.replace(".modeling_", ".configuration_") for name in modules}
    sources = "\n".join(_source(name) for name in sorted(modules))
    named = set(re.findall(r"\w+", sources))
    return sorted(key for key in _keys(written, "") if key.rpartition(".")[2] not in named | NOT_COMPARED)


def _source(module: str) -> str:
    try:
        return inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):  # not imported, or it has no source here
        return ""


def _keys(written: Mapping[str, Any], where: str) -> Iterator[str]:
    for key, value in written.items():
        if isinstance(value, Mapping) and key.endswith("_config"):
            yield from _keys(value, f"{where}{key}.")
        else:
            yield f"{where}{key}"
