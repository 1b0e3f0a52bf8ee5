"""Run PyTorch's own operator samples (OpInfo) on device npu and on the CPU, and compare: a JSON line each.

Runs in a process of its own, in the emulator's environment: ``python operator_runner.py OUT [OPERATOR ...]``.
Started again with the same OUT it goes on: an operator that was begun and not ended has crashed.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import torch
import torch_npu  # noqa: F401
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput

DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.bool,
    torch.float64,
    torch.uint8,
    torch.complex64,
)
MOST_SAMPLES = 24
MOST_SECONDS = 12.0  # for one operator and dtype
# fp16 and bf16 kernels of the CPU sum in other orders than the emulator's, which reads strided data.
TOLERANCE = {
    torch.float32: (1.3e-5, 1e-5),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (2e-2, 2e-2),
    torch.complex64: (1.3e-5, 1e-5),
}
# These read the storage behind a tensor, which a copy to the device does not keep.
STORAGE = ("as_strided", "as_strided_copy", "as_strided_scatter")
RANDOM = (
    *("bernoulli", "cauchy", "dropout", "empty", "exponential", "feature_alpha", "fractional", "geometric"),
    *(
        "log_normal",
        "lowrank",
        "multi_head_attention",
        "multinomial",
        "new_empty",
        "normal",
        "rand",
        "rrelu",
        "scaled_dot_product",
        "uniform",
    ),
)


def aclnn_calls() -> Counter[str]:
    library = ctypes.CDLL("libopapi.so")
    library.npukit_emulator_calls.restype = ctypes.c_char_p
    lines = library.npukit_emulator_calls().decode().splitlines()
    return Counter({name: int(times) for name, times in (line.split() for line in lines)})


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        parts = [moved(one, device) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: moved(one, device) for key, one in value.items()}
    if isinstance(value, torch.device) or value == "cpu":
        return torch.device(device)
    return value


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in tensors(one)]
    return []


def gradients(sample: SampleInput, result) -> list[torch.Tensor]:
    """Gradients of all floating inputs for a fixed gradient of the outputs."""
    inputs = [t for t in tensors([sample.input, *sample.args, *sample.kwargs.values()]) if t.requires_grad]
    outputs = [t for t in tensors(result) if t.requires_grad]
    if not inputs or not outputs:
        return []
    weights = [
        torch.linspace(0.5, 1.5, max(o.numel(), 1)).to(o.dtype)[: o.numel()].view(o.shape) for o in outputs
    ]
    grads = torch.autograd.grad(
        outputs, inputs, [w.to(o.device) for w, o in zip(weights, outputs, strict=True)], allow_unused=True
    )
    return [g for g in grads if g is not None]


def once(op, sample: SampleInput, device: str) -> list[torch.Tensor]:
    here = SampleInput(
        moved(sample.input, device), args=moved(sample.args, device), kwargs=moved(sample.kwargs, device)
    )
    result = op(here.input, *here.args, **here.kwargs)
    values = tensors(result)
    if op.supports_autograd:
        values = values + gradients(here, result)
    return [value.detach().cpu() for value in values]


def agree(got: list[torch.Tensor], expected: list[torch.Tensor], dtype, random: bool) -> str:
    """Why they differ, or nothing.

    Types and shapes of outputs are torch_npu's choice: where they are not the CPU's ("asks for ..."), that is
    told apart from wrong values.
    """
    if len(got) != len(expected):
        return f"asks for {len(got)} outputs, not {len(expected)}"
    rtol, atol = TOLERANCE.get(dtype, (1.3e-6, 1e-5))
    for one, other in zip(got, expected, strict=True):
        if one.shape != other.shape:
            return f"asks for the shape {tuple(one.shape)}, not {tuple(other.shape)}"
        if one.is_complex() != other.is_complex():
            return f"asks for {one.dtype}, not {other.dtype}"
        if random or one.is_sparse:
            continue
        one, other = (t.to(torch.promote_types(one.dtype, other.dtype)) for t in (one, other))
        if not torch.allclose(one.to_dense(), other.to_dense(), rtol=rtol, atol=atol, equal_nan=True):
            return (
                f"values differ by {(one.double() - other.double()).abs().max().item():.2e}"
                if one.is_floating_point()
                else "values differ"
            )
    return ""


def reason(error: Exception) -> str:
    """The emulator's own words when it failed; else torch_npu refused."""
    text = str(error)
    _, emulated, words = text.partition("(emulated NPU) ")
    if emulated:
        return "emulator: " + words.splitlines()[0][:300]
    if "not in libopapi.so" in text:
        return "missing: " + text.split(" or ")[0].split("\n")[0].split(":")[-1].strip()
    return f"torch_npu: {type(error).__name__}: {text.splitlines()[0][:200] if text else ''}"


def blamed(why: str, called: Counter[str]) -> list[str]:
    """The operators for which this comparison counts: all that were called when it agreed or its values
    differ, the one that failed, or none where torch_npu refused or chose another output."""
    if not why or why.startswith("values"):
        return list(called)
    failed = why.removeprefix("emulator: ").split()[0]
    return [failed] if why.startswith("emulator") and failed in called else []


def run(op, dtype) -> dict:
    random = any(op.name.split(".")[-1].startswith(word) or word in op.name for word in RANDOM)
    found = {"passed": 0, "failed": 0, "fallbacks": 0, "why": [], "aclnn": {}}
    backward = op.supports_autograd and dtype == torch.float32
    started = time.monotonic()
    op_samples = op.sample_inputs("cpu", dtype, requires_grad=backward)
    for number, sample in enumerate(op_samples):
        if number >= MOST_SAMPLES or time.monotonic() - started > MOST_SECONDS:
            break
        for one in (sample, sample.noncontiguous()) if number < 6 else (sample,):
            torch.manual_seed(0)
            try:
                expected = once(op, one, "cpu")
            except (RuntimeError, NotImplementedError, TypeError, ValueError):
                continue
            before = aclnn_calls()
            torch.manual_seed(0)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    why = agree(once(op, one, "npu:0"), expected, dtype, random)
                except Exception as error:  # noqa: BLE001 (whatever it is, it is told)
                    why = reason(error)
            found["fallbacks"] += any("fall back to run on the CPU" in str(w.message) for w in told)
            found["passed" if not why else "failed"] += 1
            for name in blamed(why, aclnn_calls() - before):
                counts = found["aclnn"].setdefault(name, [0, 0])
                counts[bool(why)] += 1
            if why and len(found["why"]) < 3:
                found["why"].append(why)
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.npu.conv.allow_hf32 = torch.npu.matmul.allow_hf32 = False
    out, wanted = Path(sys.argv[1]), set(sys.argv[2:])
    done = set()
    begun = None
    if out.exists():
        for line in out.read_text().splitlines():
            row = json.loads(line)
            if row.get("begun"):
                begun = (row["op"], row["dtype"])
            else:
                done.add((row["op"], row["dtype"]))
    with out.open("a") as lines:

        def write(**row):
            lines.write(json.dumps(row) + "\n")
            lines.flush()

        if begun and begun not in done:
            done.add(begun)
            write(
                op=begun[0],
                dtype=begun[1],
                crashed=True,
                passed=0,
                failed=1,
                fallbacks=0,
                why=["crashed"],
                aclnn={},
            )
        for op in op_db:
            if op.name in STORAGE or (wanted and op.name not in wanted):
                continue
            for dtype in DTYPES:
                name, kind = op.full_name, str(dtype).removeprefix("torch.")
                if (name, kind) in done or not op.supports_dtype(dtype, "cpu"):
                    continue
                write(op=name, dtype=kind, begun=True)
                try:
                    found = run(op, dtype)
                except Exception as error:  # noqa: BLE001 (whatever it is, it is told)
                    found = {
                        "passed": 0,
                        "failed": 0,
                        "fallbacks": 0,
                        "why": [f"samples: {error}"[:200]],
                        "aclnn": {},
                    }
                write(op=name, dtype=kind, **found)
    os._exit(0)  # torch_npu's own shutdown is not what is tried here


if __name__ == "__main__":
    main()
