"""Names, shapes and dtypes of a checkpoint against those of a model, and why they differ. Pure, no torch.

A *slot* is a tensor without its values. Names that differ only in numbers form one group:
``model.layers.*.mlp.w1.weight``.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

QUANTIZED_ENDINGS = (
    "qweight", "qzeros", "scales", "g_idx", "weight_scale", "weight_scale_inv", "absmax", "quant_map",
    "weight_packed", "weight_shape", "quant_state",
)  # fmt: skip
QUANTIZED_DTYPES = frozenset({"I8", "U8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2", "I32"})


@dataclass(frozen=True)
class Slot:
    """A tensor's shape and dtype, the latter as a safetensors header writes it (``BF16``)."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Group:
    """Names that differ only in numbers. ``known`` says that other numbers of the pattern did land."""

    pattern: str
    count: int
    example: str
    shape: tuple[int, ...]
    dtype: str
    known: bool = False
    wanted: tuple[int, ...] = ()  # the model's shape, of a mismatch


def pattern_of(name: str) -> str:
    """``name`` with every number between dots as ``*``."""
    return re.sub(r"(?<=\.)\d+(?=\.|$)|^\d+(?=\.)", "*", name)


def match(
    file: Mapping[str, Slot],
    model: Mapping[str, Slot],
    landing: Mapping[str, tuple[str, ...]],
    *,
    ties: Iterable[frozenset[str]] = (),
) -> dict[str, Any]:
    """Compare a checkpoint's slots with a model's, as JSON values.

    ``landing`` says which of the model's names each name of the file becomes (several when it is split;
    several names may become the same one when they are merged). ``ties`` are sets of the model's names that
    share one tensor. Gives ``landed`` (a number) and the groups ``missing``, ``unexpected``, ``mismatched``.
    """
    sources: dict[str, list[str]] = {}
    unexpected = []
    for name in file:
        targets = [target for target in landing.get(name, (name,)) if target in model]
        if not targets:
            unexpected.append(name)
        for target in targets:
            sources.setdefault(target, []).append(name)
    covered = set(sources)
    for tie in ties:
        if covered & tie:
            covered |= tie
    mismatched = []
    for target, names in sources.items():
        whole = len(names) == 1 and len(landing.get(names[0], (names[0],))) == 1
        if whole and file[names[0]].shape != model[target].shape:
            converted = names[0] != target and _size(file[names[0]]) == _size(model[target])
            if not converted:
                mismatched.append((names[0], model[target].shape))
        elif len(names) > 1 and sum(_size(file[name]) for name in names) != _size(model[target]):
            mismatched.append((names[0], model[target].shape))
    known = {pattern_of(name) for name in covered} | {
        pattern_of(name) for names in sources.values() for name in names
    }
    missing = [name for name in model if name not in covered]
    wanted = dict(mismatched)
    return {
        "file_tensors": len(file),
        "model_tensors": len(model),
        "landed": len(covered) - len(mismatched),
        "dtypes": dict(sorted(Counter(slot.dtype for slot in file.values()).items())),
        "missing": _grouped(missing, model, known, {}),
        "unexpected": _grouped(unexpected, file, known, {}),
        "mismatched": _grouped([name for name, _ in mismatched], file, set(), wanted),
    }


def _size(slot: Slot) -> int:
    return math.prod(slot.shape)


def _grouped(
    names: Iterable[str], slots: Mapping[str, Slot], known: set[str], wanted: Mapping[str, tuple[int, ...]]
) -> list[dict[str, Any]]:
    groups: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for name in names:
        groups.setdefault((pattern_of(name), slots[name].shape), []).append(name)
    return [
        asdict(
            Group(
                pattern=pattern,
                count=len(members),
                example=members[0],
                shape=shape,
                dtype=slots[members[0]].dtype,
                known=pattern in known,
                wanted=wanted.get(members[0], ()),
            )
        )
        for (pattern, shape), members in groups.items()
    ]


def words(groups: Iterable[Mapping[str, Any]], shown: int = 5) -> str:
    """Groups in a sentence: ``model.layers.*.w1 ×24, lm_head.weight``; empty when there are none."""
    rows = list(groups)
    parts = []
    for row in rows[:shown]:
        times = f" ×{row['count']}" if row["count"] > 1 else ""
        shapes = f" {list(row['shape'])} for {list(row['wanted'])}" if row.get("wanted") else ""
        parts.append(f"{row['pattern']}{times}{shapes}")
    more = f" and {len(rows) - shown} patterns more" if len(rows) > shown else ""
    return ", ".join(parts) + more


def likely_causes(headers: Mapping[str, Any]) -> list[str]:
    """Why names or shapes differ, likeliest first, in words."""
    missing, unexpected, mismatched = (headers[kind] for kind in ("missing", "unexpected", "mismatched"))
    found = [
        _quantized(unexpected),
        _prefix(missing, unexpected),
        _head(missing, unexpected),
        _layers(missing, unexpected),
        _rename(missing, unexpected),
        *(_shape(row) for row in mismatched),
    ]
    return list(dict.fromkeys(cause for cause in found if cause))


def _quantized(unexpected: list[dict[str, Any]]) -> str:
    for row in unexpected:
        ending = row["pattern"].rpartition(".")[2]
        if ending in QUANTIZED_ENDINGS or row["dtype"] in QUANTIZED_DTYPES:
            return f"the checkpoint is quantized ({row['pattern']}, {row['dtype']}): its kernels are needed"
    return ""


def _prefix(missing: list[dict[str, Any]], unexpected: list[dict[str, Any]]) -> str:
    wanted = {row["pattern"] for row in missing}
    extra: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    for row in unexpected:
        parts = row["pattern"].split(".")
        for cut in range(1, len(parts)):
            if ".".join(parts[cut:]) in wanted:
                extra[".".join(parts[:cut])] += 1
    given = {row["pattern"] for row in unexpected}
    for pattern in wanted:
        parts = pattern.split(".")
        for cut in range(1, len(parts)):
            if ".".join(parts[cut:]) in given:
                lacking[".".join(parts[:cut])] += 1
    for counter, text in ((extra, "a prefix too many"), (lacking, "a prefix too few")):
        if counter:
            prefix, count = counter.most_common(1)[0]
            if 2 * count >= len(unexpected):
                return f"the checkpoint's names have {text}: {prefix!r}"
    return ""


def _head(missing: list[dict[str, Any]], unexpected: list[dict[str, Any]]) -> str:
    def is_head(row: Mapping[str, Any]) -> bool:
        return row["pattern"].endswith(("lm_head.weight", "embed_out.weight", "output.weight"))

    if any(is_head(row) for row in missing) and not any(is_head(row) for row in unexpected):
        return (
            "the file has no output head: it is tied there, while the config says tie_word_embeddings false"
        )
    return ""


def _layers(missing: list[dict[str, Any]], unexpected: list[dict[str, Any]]) -> str:
    if any(row["known"] and "*" in row["pattern"] for row in unexpected):
        return "the file has more layers (or experts) than the config says"
    if any(row["known"] and "*" in row["pattern"] for row in missing):
        return "the file has fewer layers (or experts) than the config says"
    return ""


def _rename(missing: list[dict[str, Any]], unexpected: list[dict[str, Any]]) -> str:
    pairs = []
    free = list(missing)
    for row in unexpected:
        same = [other for other in free if other["shape"] == row["shape"] and other["count"] == row["count"]]
        near = difflib.get_close_matches(row["pattern"], [other["pattern"] for other in same], 1, 0.5)
        if near:
            free = [other for other in free if other["pattern"] != near[0]]
            pairs.append(f"{row['pattern']} → {near[0]}")
    if not pairs:
        return ""
    more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    return "renamed, by shape and number: " + ", ".join(pairs[:3]) + more


def _shape(row: Mapping[str, Any]) -> str:
    shape, wanted = list(row["shape"]), list(row["wanted"])
    if shape == wanted[::-1] and len(shape) > 1:
        return f"{row['pattern']} is transposed"
    if len(shape) == len(wanted) == 2 and shape[1] == wanted[1] and re.search("embed|head", row["pattern"]):
        return f"the vocabulary has {shape[0]} entries in the file and {wanted[0]} in the config"
    return f"a dimension in config.json does not fit the file: {row['pattern']}"
