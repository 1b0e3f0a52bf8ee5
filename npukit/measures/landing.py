"""Whether what config.json says arrived on ``model.config``. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# said by the file about itself, or decided by how the model is loaded
NOT_COMPARED = frozenset(
    {"transformers_version", "_name_or_path", "auto_map", "dtype", "torch_dtype", "attn_implementation"}
)
# transformers 5 gathered the rotary settings in one table
GATHERED = {
    "rope_theta": ("rope_parameters", "rope_theta"),
    "partial_rotary_factor": ("rope_parameters", "partial_rotary_factor"),
    "rope_scaling": ("rope_parameters",),
}


def landing(written: Mapping[str, Any], landed: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the parsed config.json with ``model.config.to_dict()``, nested ones included.

    Gives ``checked`` (number of values) and ``lost``: rows of key, written, landed.
    """
    rows = list(_compare(written, landed, ""))
    return {"checked": len(rows), "lost": [row for row in rows if row["written"] != row["landed"]]}


def _compare(written: Mapping[str, Any], landed: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    for key, value in written.items():
        if key in NOT_COMPARED or (value is None and landed.get(key) is None):
            continue
        seen = _look(landed, (key,))
        if seen is None and key in GATHERED:
            seen = _look(landed, GATHERED[key])
        if isinstance(value, Mapping) and isinstance(seen, Mapping):
            yield from _compare(value, _with_text_keys(seen), f"{where}{key}.")
        else:
            yield {"key": f"{where}{key}", "written": value, "landed": seen}


def _look(landed: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(landed, Mapping):
            return None
        landed = landed.get(step)  # type: ignore[assignment]
    return landed


def _with_text_keys(seen: Mapping[Any, Any]) -> Mapping[str, Any]:
    """JSON keys are texts; ``id2label`` and its like land with numbers."""
    return {str(key): value for key, value in seen.items()}
