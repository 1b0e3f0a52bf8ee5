"""Read a safetensors header and prove it: offsets, overlaps, holes, types, sizes. No tensor is read.

The format: 8 bytes little-endian length, that many bytes of JSON, then the data, without a gap
(https://github.com/huggingface/safetensors, README, "Format"). Memory is bound by the header's length.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

# The reference implementation refuses a longer header.
MAX_HEADER_BYTES = 100_000_000
BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


class HeaderError(ValueError):
    """The file is not a whole safetensors file; the text says in which way."""


@dataclass(frozen=True)
class Tensor:
    """One row of the header; ``begin`` and ``end`` are bytes from the file's first byte."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def parameters(self) -> int:
        return math.prod(self.shape)


def read_metadata(path: Path) -> dict[str, str]:
    """The header's ``__metadata__``: texts by name. Raises HeaderError, OSError."""
    with path.open("rb") as stream:
        text, _ = _header_text(stream)
    return dict(_parse(text).get("__metadata__") or {})


def read_header(path: Path) -> list[Tensor]:
    """The tensors in the order of their bytes. Raises HeaderError, OSError."""
    with path.open("rb") as stream:
        text, size = _header_text(stream)
    start = 8 + len(text)
    rows = _parse(text)
    tensors = [_tensor(name, row, start) for name, row in rows.items() if name != "__metadata__"]
    tensors.sort(key=lambda tensor: (tensor.begin, tensor.end))
    _contiguous(tensors, start, size)
    return tensors


def _header_text(stream: BinaryIO) -> tuple[bytes, int]:
    """The header's JSON, and the size of the whole file in bytes."""
    size = os.fstat(stream.fileno()).st_size
    first = stream.read(8)
    if len(first) < 8:
        raise HeaderError(f"only {size} bytes long")
    length = int.from_bytes(first, "little")
    if length > MAX_HEADER_BYTES or 8 + length > size:
        raise HeaderError(f"a header of {length} bytes is claimed, the file has {size}")
    text = stream.read(length)
    if len(text) < length:
        raise HeaderError("the file ends inside its header")
    return text, size


def _parse(text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            raise HeaderError("the header names a key twice")
        return row

    try:
        rows = json.loads(text, object_pairs_hook=unique)
    except HeaderError:
        raise
    except (ValueError, RecursionError) as error:
        raise HeaderError(f"the header is not JSON: {error}") from error
    if not isinstance(rows, dict):
        raise HeaderError("the header is not a JSON object")
    return rows


def _naturals(values: Any) -> tuple[int, ...] | None:
    right = isinstance(values, list) and all(type(v) is int and 0 <= v < 1 << 63 for v in values)
    return tuple(values) if right else None


def _tensor(name: str, row: Any, start: int) -> Tensor:
    if not isinstance(row, dict):
        raise HeaderError(f"{name}: not a tensor's row")
    dtype, shape, offsets = row.get("dtype"), _naturals(row.get("shape")), _naturals(row.get("data_offsets"))
    if not isinstance(dtype, str) or dtype not in BITS:
        raise HeaderError(f"{name}: unknown dtype {dtype!r}")
    if shape is None or offsets is None or len(offsets) != 2:
        raise HeaderError(f"{name}: shape or data_offsets malformed")
    begin, end = offsets
    bits = math.prod(shape) * BITS[dtype]
    if bits % 8 or end - begin != bits // 8:
        raise HeaderError(
            f"{name}: {dtype}{list(shape)} takes {bits / 8:g} bytes, its offsets give {end - begin}"
        )
    return Tensor(name, dtype, shape, start + begin, start + end)


def _contiguous(tensors: list[Tensor], start: int, size: int) -> None:
    at = start
    for tensor in tensors:
        if tensor.begin < at:
            raise HeaderError(f"{tensor.name}: overlaps the tensor before it by {at - tensor.begin} bytes")
        if tensor.begin > at:
            raise HeaderError(f"{tensor.name}: {tensor.begin - at} bytes before it belong to no tensor")
        at = tensor.end
    if at > size:
        raise HeaderError(f"truncated: {at - size} bytes of {at} are missing")
    if at < size:
        raise HeaderError(f"{size - at} bytes after the last tensor belong to none")
