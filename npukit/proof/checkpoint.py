"""What the files of a model directory say about themselves: headers, index, pointers, pages of errors.

Only headers and small texts are read, so the time does not grow with the weights.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from npukit.proof.headers import HeaderError, Tensor, read_header

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
# Longer JSON (none is known) is left to whoever loads it.
MAX_JSON_BYTES = 256 << 20
POINTER = b"version https://git-lfs.github.com/spec/"
PAGES = (b"<!doctype html", b"<html")
TEXTS = (".html", ".htm", ".md", ".txt", ".py", ".jinja")


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with one file. ``kind`` is stable: pointer, page, json, header, index, ..."""

    kind: str
    path: str
    detail: str


@dataclass(frozen=True)
class Contents:
    """Counts over the files a loader would take (the index's shards, or model.safetensors, or all)."""

    tensors: int = 0
    parameters: int = 0
    dtypes: dict[str, int] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


def inspect(root: Path, paths: Iterable[str]) -> Contents:
    """Inspect ``paths`` (relative, with ``/``) below ``root``. A file that is not there is a fault."""
    paths = sorted(paths)
    faults: list[Fault] = []
    headers: dict[str, list[Tensor]] = {}
    documents: dict[str, Any] = {}
    for path in paths:
        try:
            fault = _disguised(root / path, path)
            if fault is None and path.endswith(".safetensors"):
                headers[path] = read_header(root / path)
            elif fault is None and path.endswith(".json"):
                documents[path] = _read_json(root / path)
        except HeaderError as error:
            fault = Fault("header", path, str(error))
        except ValueError as error:
            fault = Fault("json", path, f"not JSON: {error}")
        except OSError as error:
            fault = Fault("missing", path, error.strerror or str(error))
        if fault is not None:
            faults.append(fault)
    loaded = _loaded(paths, headers, documents, faults)
    owners: dict[str, str] = {}
    dtypes: Counter[str] = Counter()
    parameters = 0
    for path in loaded:
        for tensor in headers.get(path, ()):
            if tensor.name in owners:
                faults.append(Fault("index", path, f"{tensor.name} is in {owners[tensor.name]} too"))
                continue
            owners[tensor.name] = path
            dtypes[tensor.dtype] += 1
            parameters += tensor.parameters
    return Contents(len(owners), parameters, dict(sorted(dtypes.items())), tuple(faults))


def _disguised(path: Path, name: str) -> Fault | None:
    """A git-lfs pointer or a page of HTML under the name of something else."""
    with path.open("rb") as stream:
        start = stream.read(512)
    if start.startswith(POINTER):
        return Fault("pointer", name, "a git-lfs pointer stands in the file's place")
    if start.lstrip().lower().startswith(PAGES) and not name.endswith(TEXTS):
        return Fault("page", name, "an HTML page (often an error page) was saved under this name")
    if not start and name.endswith((".safetensors", ".bin", ".json")):
        return Fault("empty", name, "the file is empty")
    return None


def _read_json(path: Path) -> Any:
    if path.stat().st_size > MAX_JSON_BYTES:
        return None
    try:
        return json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _loaded(
    paths: list[str], headers: dict[str, list[Tensor]], documents: dict[str, Any], faults: list[Fault]
) -> list[str]:
    """The weight files a loader takes; an index is held against them on the way."""
    if INDEX in documents:
        index = documents[INDEX]
        weight_map = index.get("weight_map") if isinstance(index, dict) else None
        if not isinstance(weight_map, dict) or not all(isinstance(v, str) for v in weight_map.values()):
            faults.append(Fault("index", INDEX, "there is no weight_map in it"))
            return sorted(headers)
        faults.extend(_uncovered(paths, headers, weight_map))
        return sorted(set(weight_map.values()) & set(headers))
    return [SINGLE] if SINGLE in headers else sorted(headers)


def _uncovered(
    paths: list[str], headers: dict[str, list[Tensor]], weight_map: dict[str, str]
) -> Iterable[Fault]:
    for shard in sorted(set(weight_map.values())):
        wanted = {name for name, file in weight_map.items() if file == shard}
        if shard not in paths:
            yield Fault("index", shard, f"not there; the index has {len(wanted)} tensors in it")
        elif shard in headers:
            found = {tensor.name for tensor in headers[shard]}
            if lost := sorted(wanted - found):
                yield Fault("index", shard, f"{len(lost)} tensors of the index are not in it: {_some(lost)}")
            if extra := sorted(found - wanted):
                yield Fault("index", shard, f"{len(extra)} tensors are not in the index: {_some(extra)}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
