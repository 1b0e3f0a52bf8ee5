"""``npukit show``: what is there, its verdict, and whether it is current, or why not."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from npukit.cli.opening import open_pipeline
from npukit.cli.options import (
    DeviceOption,
    DtypeOption,
    EmulatedOption,
    JsonOption,
    LangOption,
    ModelArgument,
)
from npukit.cli.output import VERDICT_STYLE, Output
from npukit.report import gather
from npukit.workspace import Workspace


def show(
    model: ModelArgument = None,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Show what is stored: of one model stage by stage, or of every model."""
    out = Output(json, lang)
    if model is None:
        _all(out)
        return
    with open_pipeline(out, model, None, device=device, emulated=emulated, dtype=dtype or "") as pipeline:
        context = pipeline.settled()
    rows: list[dict[str, Any]] = []
    for stage, found in gather(context).found.items():
        judged, why = found.judged, list(found.why)
        rows.append(
            {
                "stage": stage,
                "verdict": None if judged is None else "pass" if judged.passed else "fail",
                "current": judged is not None and not why,
                "why": why,
                "result": None if judged is None else judged.to_json(),
            }
        )

    def human(console: Console) -> None:
        table = Table(show_edge=False, pad_edge=False)
        for column in ("stage", "verdict", "measured", "current", "file"):
            table.add_column(column, overflow="fold")
        for row in rows:
            result = row["result"]
            style = VERDICT_STYLE.get(str(row["verdict"]), "dim")
            table.add_row(
                str(row["stage"]),
                f"[{style}]{row['verdict'] or '-'}[/{style}]",
                result["started"] if result else "-",
                "yes" if row["current"] else escape("; ".join(row["why"])),
                escape(result["path"]) if result else "-",
            )
        console.print(table)

    out.emit({"model": context.recipe.name, "device": str(context.device), "stages": rows}, human)


def _all(out: Output) -> None:
    rows: list[dict[str, Any]] = []
    for result, path in Workspace.open().results():
        rows.append(
            {
                "model": result.model,
                "device": result.device,
                "stage": result.stage,
                "started": result.started,
                "emulated": result.emulated,
                "path": str(path),
            }
        )

    def human(console: Console) -> None:
        table = Table(show_edge=False, pad_edge=False)
        for column in ("model", "device", "stage", "started"):
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(str(row[name]) for name in ("model", "device", "stage", "started")))
        if rows:
            console.print(table)
            console.print("npukit show MODEL   # verdicts, and what is current")
        else:
            console.print("nothing is measured yet: npukit run tiny-minicpm-v")

    out.emit({"results": rows}, human)
