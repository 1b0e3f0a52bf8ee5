"""A fetch with its proof against the hubs' own clients, over loopback; and the proof of a sharded checkpoint.

    python -m tests.benchmarks.fetch [--mib 512] [--rounds 3] [--json]

Every way of one round starts from nothing and gets the same bytes from the same mirror, in a process of its own;
the ways alternate. ``ratio`` is the best time of the other way over npukit's best time: above 1, npukit is faster.
The mirror shares the machine's cores with the client, as it does for every way.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REPO = "bench/model"
SHARDS = 60
CHECKPOINT_BYTES = 140 * 10**9


def header(tensors: dict[str, tuple[int, int]]) -> bytes:
    """A safetensors header: name to (begin, end) of BF16 rows."""
    rows = {
        name: {"dtype": "BF16", "shape": [(end - begin) // 2], "data_offsets": [begin, end]}
        for name, (begin, end) in tensors.items()
    }
    text = json.dumps(rows).encode()
    return struct.pack("<Q", len(text)) + text


def make_hub(root: Path, size: int) -> None:
    """Two shards of random bytes and small files."""
    model = root / REPO
    model.mkdir(parents=True)
    (model / "config.json").write_text('{"model_type": "llama"}')
    (model / "tokenizer.json").write_bytes(json.dumps(list(range(200_000))).encode())
    block = random.Random(0).randbytes(1 << 20)
    half = size // 2
    weight_map = {}
    for index in range(2):
        name = f"model-{index + 1:05}-of-00002.safetensors"
        weight_map[f"w{index}"] = name
        with (model / name).open("wb") as stream:
            stream.write(header({f"w{index}": (0, half)}))
            for at in range(0, half, len(block)):
                stream.write(block[: half - at])
    index_file = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (model / "model.safetensors.index.json").write_text(json.dumps(index_file))


def timed(commands: list[list[str]], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    for command in commands:
        subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


def downloads(size: int, rounds: int) -> dict[str, Any]:
    """Best wall seconds of each way."""
    with tempfile.TemporaryDirectory(prefix="npukit-bench-") as folder:
        base = Path(folder)
        make_hub(base / "hub", size)
        mirror = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/fixtures/hub_mirror.py"), str(base / "hub")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert mirror.stdout is not None
        url = mirror.stdout.readline().strip()
        shared = {
            **os.environ,
            "HF_ENDPOINT": url,
            "MODELSCOPE_ENDPOINT": url,
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "PYTHONPATH": str(ROOT),
        }
        tools = Path(sys.executable).parent
        target = base / "target"
        prove = ["bash", "-c", f"find -L {target} -type f | xargs sha256sum"]
        ways: dict[str, Callable[[], float]] = {
            "npukit, huggingface": lambda: timed(
                [[sys.executable, "-m", "npukit", "fetch", f"hf:{REPO}"]], environment()
            ),
            "hf download + sha256sum": lambda: timed(
                [[str(tools / "hf"), "download", REPO, "--local-dir", str(target)], prove], environment()
            ),
            "npukit, modelscope": lambda: timed(
                [[sys.executable, "-m", "npukit", "fetch", f"ms:{REPO}"]], environment()
            ),
            "modelscope download": lambda: timed(
                [[str(tools / "modelscope"), "download", "--model", REPO, "--local_dir", str(target)]],
                environment(),
            ),
        }

        def environment() -> dict[str, str]:
            shutil.rmtree(base / "home", ignore_errors=True)
            shutil.rmtree(target, ignore_errors=True)
            names = ("HOME", "HF_HOME", "MODELSCOPE_CACHE", "XDG_CACHE_HOME", "NPUKIT_HOME")
            return {**shared, **{name: str(base / "home" / name.lower()) for name in names}}

        seconds: dict[str, list[float]] = {name: [] for name in ways}
        try:
            for _ in range(rounds):
                for name, way in ways.items():
                    seconds[name].append(way())
        finally:
            mirror.communicate()
        best = {name: min(values) for name, values in seconds.items()}
        return {
            "bytes": size,
            "rounds": rounds,
            "seconds": {name: [round(value, 3) for value in values] for name, values in seconds.items()},
            "ratio": {
                "hf download + sha256sum": best["hf download + sha256sum"] / best["npukit, huggingface"],
                "modelscope download": best["modelscope download"] / best["npukit, modelscope"],
            },
        }


def headers() -> dict[str, Any]:
    """The header proof of a sparse 140 GB checkpoint in 60 shards of 20 tensors."""
    from npukit.proof import inspect

    with tempfile.TemporaryDirectory(prefix="npukit-bench-") as folder:
        root = Path(folder)
        each = CHECKPOINT_BYTES // SHARDS // 20 // 2 * 2
        weight_map = {}
        for shard in range(SHARDS):
            name = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
            tensors = {f"layer.{shard}.{i}": (i * each, (i + 1) * each) for i in range(20)}
            weight_map.update(dict.fromkeys(tensors, name))
            head = header(tensors)
            with (root / name).open("wb") as stream:
                stream.write(head)
                stream.truncate(len(head) + 20 * each)
        (root / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
        names = [path.name for path in root.iterdir()]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        contents = inspect(root, names)
        seconds = time.perf_counter() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert not contents.faults
        return {
            "bytes": CHECKPOINT_BYTES,
            "shards": SHARDS,
            "tensors": contents.tensors,
            "seconds": round(seconds, 4),
            "memory_grown_bytes": grown * 1024,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mib", type=int, default=512, help="MiB of weights to download")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {"headers": headers(), "downloads": downloads(options.mib << 20, options.rounds)}
    if options.json:
        print(json.dumps(found, indent=2))
        return
    proof, loads = found["headers"], found["downloads"]
    print(f"header proof, {proof['shards']} shards, 140 GB: {proof['seconds']} s")
    for name, values in loads["seconds"].items():
        print(f"{name:26} {min(values):7.2f} s   of {values}")
    for name, ratio in loads["ratio"].items():
        print(f"{name} / npukit: {ratio:.2f}")


if __name__ == "__main__":
    main()
