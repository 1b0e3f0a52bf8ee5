"""``make bench [ONLY=name]``: run every benchmark, print a table, keep the JSON in build/bench.json."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

HERE = Path(__file__).parent
KEPT = HERE.parents[1] / "build" / "bench.json"


def main(chosen: list[str]) -> None:
    names = chosen or sorted(path.stem for path in HERE.glob("[a-z]*.py"))
    rows, kept = [], []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        for figure in importlib.import_module(f"tests.benchmarks.{name}").measure():
            target = "" if figure.target is None else f"{figure.better} {figure.target:g}"
            verdict = {True: "met", False: "MISSED", None: ""}[figure.met]
            value = f"{figure.value:.4g} {figure.unit}"
            rows.append((name, figure.name, value, target, verdict, figure.conditions))
            kept.append({"benchmark": name, **asdict(figure), "met": figure.met})
    headers = ("benchmark", "figure", "value", "target", "", "conditions")
    print(tabulate(rows, headers=headers, tablefmt="github"))
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


main(sys.argv[1:])
