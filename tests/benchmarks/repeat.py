"""The bench of the bench: do two runs on one machine agree, by bench's own comparison?."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks import Figure

MODEL = "tiny-minicpm-v"
BENCH = ("bench", MODEL, "--device", "cpu", "--rounds", "20", "--warmup", "5", "--force")


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / name for name in ("first.json", "second.json")]
        for file in files:
            file.write_text(json.dumps(_npukit(place, *BENCH)), encoding="utf-8")
        compared = _npukit(place, "bench", "--compare", *map(str, files))
    return [figure for name, one in compared["ratios"].items() for figure in _figures(name, one)]


def _figures(name: str, one: dict[str, Any]) -> list[Figure]:
    conditions = (
        f"{MODEL} on cpu, {one['pairs']} paired rounds, {one['confidence']:.0%} interval "
        f"{one['low']:.3f} to {one['high']:.3f}"
    )
    agree = float(one["low"] <= 1 <= one["high"])
    return [
        Figure(f"two runs, {name}, ratio", one["ratio"], "x", conditions=conditions),
        Figure(f"two runs, {name}, agree", agree, "", 1.0, "above", conditions),
    ]


def _npukit(home: str, *arguments: str) -> Any:
    """The document that one command prints."""
    ran = subprocess.run(
        [sys.executable, "-m", "npukit", *arguments, "--json"],
        env={**os.environ, "NPUKIT_HOME": home},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(ran.stdout)
