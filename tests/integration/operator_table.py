"""The pass table of the emulated operators: ``python operator_table.py RESULTS WRITTEN > OPERATORS.md``.

``RESULTS`` is what operator_runner.py wrote, ``WRITTEN`` how many operators the library has.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

DTYPES = {
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float64": "fp64",
    "int64": "i64",
    "int32": "i32",
    "uint8": "u8",
    "bool": "bool",
    "complex64": "c64",
}
HEAD = """# Operators of the emulated CANN

Which of the operators that torch_npu looks up by name were compared with the CPU, and how it went. Made by
`python tests/integration/operator_table.py` from PyTorch's own operator samples (OpInfo), run through the
real torch_npu {torch_npu} on device npu and on the CPU: contiguous, strided and empty inputs, gradients in
fp32. Nothing here was run on hardware.

A number is how many comparisons that used the operator agreed; `n/m` means that m did not. A comparison
is not counted where torch_npu itself refuses the input or asks for an output of another type or shape than
the CPU's.

{passed} operators agree in every comparison that used them, {some} in some; {written} are written, of
{known} whose calls by torch_npu are known.
"""


def counts(lines: Iterable[str]) -> dict[str, dict[str, tuple[int, int]]]:
    """Operator to dtype to (agreed, did not)."""
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for line in lines:
        row = json.loads(line)
        for name, (agreed, failed) in row.get("aclnn", {}).items():
            pair = found[name][row["dtype"]]
            pair[0] += agreed
            pair[1] += failed
    return {name: {kind: (a, b) for kind, (a, b) in kinds.items()} for name, kinds in sorted(found.items())}


def passing(found: dict[str, dict[str, tuple[int, int]]]) -> set[str]:
    """Operators that agreed whenever they were used."""
    return {name for name, kinds in found.items() if not any(failed for _, failed in kinds.values())}


def whole(document: str) -> set[str]:
    """Operators that a published table says agreed whenever they were used."""
    rows = [line.strip("| ").split(" | ") for line in document.splitlines() if line.startswith("| acl")]
    return {name.strip() for name, *cells in rows if not any("/" in cell for cell in cells)}


def table(found: dict[str, dict[str, tuple[int, int]]], written: int, known: int, torch_npu: str) -> str:
    agreed = passing(found)
    some = [name for name, kinds in found.items() if any(agreed for agreed, _ in kinds.values())]
    head = HEAD.format(
        passed=len(agreed), some=len(set(some) - agreed), written=written, known=known, torch_npu=torch_npu
    )
    lines = [head, "| operator | " + " | ".join(DTYPES.values()) + " |", "|---|" + "---|" * len(DTYPES)]
    for name, kinds in found.items():
        cells = []
        for kind in DTYPES:
            agreed, failed = kinds.get(kind, (0, 0))
            cells.append(f"{agreed}/{failed}" if failed else str(agreed or ""))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    from importlib.metadata import version

    from npukit.emulator.signatures import expected_signatures

    results = counts(Path(sys.argv[1]).read_text().splitlines())
    print(table(results, int(sys.argv[2]), len(expected_signatures()), version("torch_npu")), end="")
