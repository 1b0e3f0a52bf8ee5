"""Runs in a child of `npukit env`, as `python -c TEXT torch MODULE... -DEVICE...`: imports, then a proof
of every device but those named with a dash.

Needs the standard library only: what is under test is imported by name. Writes one JSON object a line on the
stdout it was given; whatever else is printed there goes to stderr. `begin` lines tell where a child died.
"""

import importlib
import json
import os
import sys
import time
import traceback

COPY_BYTES = 1 << 28
COPY_BYTES_CPU = 1 << 26
SIDE = 1024
RUNS = 5


def main(arguments):
    modules = [word for word in arguments if not word.startswith("-")]
    skipped = [word[1:] for word in arguments if word.startswith("-")]
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(**facts):
        report.write(json.dumps(facts) + "\n")
        report.flush()

    for name in modules:
        tell(begin=name)
        started = time.perf_counter()
        try:
            module = importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 (whatever an import raises, SystemExit too, is the finding)
            tell(module=name, ok=False, **told(error))
            if name != "torch_npu":
                return
            skipped.append("npu")  # half imported: the CPU can still be tried
            continue
        seconds = round(time.perf_counter() - started, 2)
        version = str(getattr(module, "__version__", ""))
        place = getattr(module, "__file__", None) or ""
        tell(module=name, ok=True, version=version, seconds=seconds, file=place)
    if "torch" in modules:
        prove(importlib.import_module("torch"), skipped, tell)
    tell(begin="end")


def told(error):
    root = error
    while root.__cause__ or root.__context__:
        root = root.__cause__ or root.__context__
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"error": line(error), "root": line(root), "traceback": text[-6000:]}


def line(error):
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]


def prove(torch, skipped, tell):
    kinds = {"cpu": 1}
    for kind in ("npu", "cuda"):
        backend = getattr(torch, kind, None)
        if backend is not None and kind not in skipped:
            tell(begin=f"counting {kind}")
            try:
                kinds[kind] = backend.device_count() if backend.is_available() else 0
            except Exception as error:  # noqa: BLE001 (the finding)
                tell(device=kind, **told(error))
    only_cpu = not any(kinds.get(kind) for kind in ("npu", "cuda"))
    for kind, count in kinds.items():
        if kind == "cpu" and not only_cpu:
            continue
        for index in range(count):
            device = kind if kind == "cpu" else f"{kind}:{index}"
            if device in skipped:
                continue
            tell(begin=device)
            try:
                tell(device=device, **measure(torch, kind, index))
            except Exception as error:  # noqa: BLE001 (the finding)
                tell(device=device, **told(error))


def measure(torch, kind, index):
    backend = getattr(torch, kind)
    place = torch.device(kind) if kind == "cpu" else torch.device(kind, index)

    def wait():
        if kind != "cpu":
            backend.synchronize()

    if kind != "cpu":
        backend.set_device(index)
    torch.ones(1).to(place)  # wakes the device: precision switches read before it mean nothing
    right = {}
    whole = torch.arange(64 * 64).reshape(64, 64) % 3 - 1
    expected = (whole @ whole.T).double()  # integers up to 64: exact in every type tried
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        name = str(dtype).rpartition(".")[2]
        try:
            operand = whole.to(dtype).to(place)
            found = (operand @ operand.T).cpu().double()
            right[name] = bool(torch.equal(found, expected.to(dtype).double()))
        except Exception as error:  # noqa: BLE001 (the finding)
            right[name] = line(error)
    fine = torch.full((16, 16), 1 + 2.0**-20).to(place) @ torch.eye(16).to(place)
    facts = {"name": "" if kind == "cpu" else backend.get_device_name(index), "right": right}
    facts["float32_kept"] = bool((fine.cpu() == 1 + 2.0**-20).all())
    facts["switches"] = switches(torch, kind)
    side = torch.ones(SIDE, SIDE).to(place)
    seconds = best(lambda: side @ side, wait)
    facts["gflops"] = round(2 * SIDE**3 / seconds / 1e9, 1)
    count = COPY_BYTES_CPU if kind == "cpu" else COPY_BYTES
    source = torch.ones(count, dtype=torch.uint8).to(place)
    target = torch.empty_like(source)
    facts["copy_gb_per_s"] = round(2 * count / best(lambda: target.copy_(source), wait) / 1e9, 1)
    return facts


def best(work, wait):
    work()
    wait()
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - started)
    return min(times)


def switches(torch, kind):
    if kind == "npu":
        return {
            "hf32_matmul": bool(torch.npu.matmul.allow_hf32),
            "hf32_conv": bool(torch.npu.conv.allow_hf32),
        }
    if kind == "cuda":
        conv, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
        return {"tf32_matmul": bool(matmul.allow_tf32), "tf32_conv": bool(conv.allow_tf32)}
    return {}


main(sys.argv[2:])
