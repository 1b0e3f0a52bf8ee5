"""Read every tensor once: zero-filled holes (a lost write, a sparse copy) and non-finite numbers.

Chunks of 8 MiB at most are in memory. A hole is a run of zero bytes of at least 64 KiB; where the source
stated the file's hash and it agreed, the zeros were published so and are no fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npukit.proof.checkpoint import Fault
from npukit.proof.headers import HeaderError, Tensor, read_header

if TYPE_CHECKING:
    from npukit.proof.record import FileProof

CHUNK_BYTES = 8 << 20
BLOCK_BYTES = 4096
HOLE_BYTES = 64 << 10
# dtype: (word, bits that are all set in an infinity or a NaN). F8_E4M3 has NaN only, 0x7f and 0xff.
EXPONENTS = {
    "F16": ("<u2", 0x7C00),
    "BF16": ("<u2", 0x7F80),
    "F32": ("<u4", 0x7F800000),
    "C64": ("<u4", 0x7F800000),
    "F64": ("<u8", 0x7FF0000000000000),
    "F8_E5M2": ("u1", 0x7C),
    "F8_E4M3": ("u1", 0x7F),
}


def scan(root: Path, files: Iterable[FileProof], progress: Callable[[str], None]) -> Iterator[Fault]:
    """Faults of every safetensors file that can be read; others have their own fault already."""
    for file in files:
        if not file.path.endswith(".safetensors"):
            continue
        try:
            tensors = read_header(root / file.path)
        except (HeaderError, OSError):
            continue
        progress(f"reading the values of {file.path}")
        yield from _scan_file(root / file.path, file, tensors)


def _scan_file(path: Path, file: FileProof, tensors: list[Tensor]) -> Iterator[Fault]:
    with path.open("rb") as stream:
        for tensor in tensors:
            stream.seek(tensor.begin)
            bad, hole = _scan_tensor(stream, tensor)
            if bad:
                yield Fault("non-finite", file.path, f"{tensor.name}: {bad} of {tensor.parameters} numbers")
            if hole and not file.stated:
                yield Fault("hole", file.path, f"{tensor.name}: a run of {hole} zero bytes")


def _scan_tensor(stream: Any, tensor: Tensor) -> tuple[int, int]:
    """How many numbers are not finite, and the longest run of zero bytes, in whole blocks."""
    word, mask = EXPONENTS.get(tensor.dtype, ("u1", 0))
    bad = longest = run = 0
    left = tensor.end - tensor.begin
    while left > 0:
        data = np.frombuffer(stream.read(min(CHUNK_BYTES, left)), np.uint8)
        if not len(data):
            raise OSError(f"{tensor.name}: the file ended while it was read")
        left -= len(data)
        if mask:
            numbers = data.view(word)
            bad += int(np.count_nonzero((numbers & numbers.dtype.type(mask)) == mask))
        blocks = data[: len(data) // BLOCK_BYTES * BLOCK_BYTES].reshape(-1, BLOCK_BYTES)
        for nonzero in blocks.max(axis=1, initial=0).tolist():
            run = 0 if nonzero else run + BLOCK_BYTES
            longest = max(longest, run)
    return bad, longest if longest >= HOLE_BYTES else 0
