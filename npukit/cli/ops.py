"""``npukit ops``: which operators a model calls, and what each becomes on an NPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    DtypeOption,
    EmulatedOption,
    JsonOption,
    LangOption,
    ModelArgument,
    ModelOption,
    NewTokensOption,
)
from npukit.cli.output import Output
from npukit.emulator.kernels import Kernels, read_kernels
from npukit.errors import ExitStatus

PHASES = ("vision", "prefill", "decode")
NEW_TOKENS = 4


def ops(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    new_tokens: NewTokensOption = None,
    wheel: Annotated[
        Path | None,
        typer.Option("--torch-npu", help="A torch_npu wheel to ask; the default is the installed one."),
    ] = None,
    max_fallback: Annotated[
        int | None,
        typer.Option(
            "--max-fallback", min=0, help="Fail when more operators than this fall back to the CPU."
        ),
    ] = None,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Count the operators of one answer by phase, and tell which have a kernel on an NPU."""
    out = Output(json, lang)
    kernels = read_kernels(wheel)
    device = "npu:0" if emulated else "cpu"
    with open_pipeline(
        out, model, model_option, device=device, emulated=emulated, dtype=dtype or "", accelerate=False
    ) as pipeline:
        context = pipeline.ready()
        prompt = context.recipe.prompts[0]
        counted = pipeline.workers.device().ask(
            "ops", load=context.load(), messages=context.messages(prompt), new_tokens=new_tokens or NEW_TOKENS
        )
    rows = _rows(counted, kernels)
    fallbacks = [row["operator"] for row in rows if row["npu"] == "fallback"]
    passed = None if max_fallback is None else len(fallbacks) <= max_fallback
    document = {
        "model": context.recipe.name,
        "recorded_on": "emulated npu" if emulated else "cpu",
        "torch_npu": kernels.torch_npu,
        "prompt": prompt.id,
        "new_tokens": new_tokens or NEW_TOKENS,
        "operators": rows,
        "fallbacks": fallbacks,
        "passed": passed,
    }
    out.emit(document, lambda console: _print(console, document))
    return int(ExitStatus.FAILED if passed is False else ExitStatus.PASSED)


def _rows(counted: dict[str, Any], kernels: Kernels) -> list[dict[str, Any]]:
    """One row for each operator, what falls back first, then the most called."""
    phases, composite = counted["phases"], set(counted["composite"])
    names = {name for counts in phases.values() for name in counts}
    rows = [
        {
            "operator": name,
            "npu": kernels.kind(name, name in composite),
            **{phase: phases[phase].get(name, 0) for phase in PHASES},
        }
        for name in names
    ]
    return sorted(rows, key=lambda r: (r["npu"] != "fallback", -sum(r[p] for p in PHASES), r["operator"]))


def _print(console: Console, document: dict[str, Any]) -> None:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("operator")
    for phase in PHASES:
        table.add_column(phase, justify="right")
    table.add_column(f"on torch_npu {document['torch_npu']}")
    for row in document["operators"]:
        style = "red" if row["npu"] == "fallback" else None
        table.add_row(row["operator"], *(str(row[phase] or "") for phase in PHASES), row["npu"], style=style)
    console.print(table)
    count = len(document["fallbacks"])
    console.print(
        f"{len(document['operators'])} operators of one answer to {document['prompt']!r}, recorded on "
        f"{document['recorded_on']}; {count} fall back to the CPU"
    )
