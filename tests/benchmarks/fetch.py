"""A fetch with its proof against the hubs' own clients over loopback, and the proof of a sharded checkpoint.

Every way of one round starts from nothing and gets the same bytes from the same mirror, in a process of its
own; the ways alternate. A ratio is the other way's best time over npukit's: above 1, npukit is faster. The
mirror shares the machine's cores with the client, as it does for every way.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from npukit.proof import inspect
from tests.benchmarks import Figure

ROOT = Path(__file__).parents[2]
REPO = "bench/model"
WEIGHTS_BYTES = 512 << 20
ROUNDS = 3
SHARDS = 60
TENSORS_PER_SHARD = 20
CHECKPOINT_BYTES = 140 * 10**9


def measure() -> list[Figure]:
    return [*header_proof(), *downloads()]


def header_proof() -> list[Figure]:
    """A sparse checkpoint: only headers have bytes on the disk."""
    with tempfile.TemporaryDirectory(prefix="npukit-bench-") as folder:
        root = Path(folder)
        each = CHECKPOINT_BYTES // SHARDS // TENSORS_PER_SHARD // 2 * 2
        weight_map = {}
        for shard in range(SHARDS):
            name = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
            tensors = {f"layer.{shard}.{i}": (i * each, (i + 1) * each) for i in range(TENSORS_PER_SHARD)}
            weight_map.update(dict.fromkeys(tensors, name))
            head = header(tensors)
            with (root / name).open("wb") as stream:
                stream.write(head)
                stream.truncate(len(head) + TENSORS_PER_SHARD * each)
        (root / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
        names = [path.name for path in root.iterdir()]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        contents = inspect(root, names)
        seconds = time.perf_counter() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if contents.faults:
        raise AssertionError(contents.faults)
    conditions = f"{SHARDS} shards, {contents.tensors} tensors, 140 GB sparse"
    return [
        Figure("header proof", seconds, "s", 1.0, conditions=conditions),
        Figure("header proof, memory grown", grown, "MiB", 32.0, conditions=conditions),
    ]


def downloads() -> list[Figure]:
    """Ratios of wall time."""
    with tempfile.TemporaryDirectory(prefix="npukit-bench-") as folder:
        base = Path(folder)
        make_hub(base / "hub")
        with mirror(base / "hub") as url:
            tools, target = Path(sys.executable).parent, base / "target"
            prove = f"find {target} -type f | xargs sha256sum"
            ways = {
                "npukit hf": [sys.executable, "-m", "npukit", "fetch", f"hf:{REPO}"],
                "hf": ["bash", "-c", f"{tools}/hf download {REPO} --local-dir {target}; {prove}"],
                "npukit ms": [sys.executable, "-m", "npukit", "fetch", f"ms:{REPO}"],
                "ms": [f"{tools}/modelscope", "download", "--model", REPO, "--local_dir", str(target)],
            }
            seconds: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(ROUNDS):
                for name, command in ways.items():
                    shutil.rmtree(target, ignore_errors=True)
                    shutil.rmtree(base / "home", ignore_errors=True)
                    seconds[name].append(timed(command, environment(url, base / "home")))
    best = {name: min(values) for name, values in seconds.items()}
    conditions = f"{WEIGHTS_BYTES >> 20} MiB over loopback, best of {ROUNDS}"
    return [
        Figure("npukit fetch hf:...", best["npukit hf"], "s", conditions=conditions),
        Figure(
            "hf download + sha256sum / npukit", best["hf"] / best["npukit hf"], "x", 1.0, "above", conditions
        ),
        Figure("npukit fetch ms:...", best["npukit ms"], "s", conditions=conditions),
        Figure("modelscope download / npukit", best["ms"] / best["npukit ms"], "x", 1.0, "above", conditions),
    ]


def timed(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


def environment(url: str, home: Path) -> dict[str, str]:
    """A user who has nothing yet."""
    names = ("HOME", "HF_HOME", "MODELSCOPE_CACHE", "XDG_CACHE_HOME", "NPUKIT_HOME")
    return {
        **os.environ,
        **{name: str(home / name.lower()) for name in names},
        "HF_ENDPOINT": url,
        "MODELSCOPE_ENDPOINT": url,
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "PYTHONPATH": str(ROOT),
    }


@contextlib.contextmanager
def mirror(root: Path) -> Iterator[str]:
    """The mirror in a process of its own; its address."""
    command = [sys.executable, str(ROOT / "tests/fixtures/hub_mirror.py"), str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate()


def make_hub(root: Path) -> None:
    """Two shards of random bytes and small files."""
    model = root / REPO
    model.mkdir(parents=True)
    (model / "config.json").write_text('{"model_type": "llama"}')
    (model / "tokenizer.json").write_bytes(json.dumps(list(range(200_000))).encode())
    block = random.Random(0).randbytes(1 << 20)
    half = WEIGHTS_BYTES // 2
    weight_map = {f"w{index}": f"model-{index + 1:05}-of-00002.safetensors" for index in range(2)}
    for tensor, name in weight_map.items():
        with (model / name).open("wb") as stream:
            stream.write(header({tensor: (0, half)}))
            for at in range(0, half, len(block)):
                stream.write(block[: half - at])
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


def header(tensors: dict[str, tuple[int, int]]) -> bytes:
    """A safetensors header: name to (begin, end) of BF16 rows."""
    rows = {
        name: {"dtype": "BF16", "shape": [(end - begin) // 2], "data_offsets": [begin, end]}
        for name, (begin, end) in tensors.items()
    }
    text = json.dumps(rows).encode()
    return struct.pack("<Q", len(text)) + text
