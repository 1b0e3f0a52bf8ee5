"""``npukit show``: what is there, its verdict, and whether it is current, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Annotated, Any

import typer
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
from npukit.cli.output import VERDICT_STYLE, WIDE, Output
from npukit.context import Context
from npukit.fingerprint import differences
from npukit.report import gather
from npukit.retention import prune as remove
from npukit.retention import size_bytes, sizes, superseded, unused
from npukit.stages import stage_named
from npukit.workspace import Workspace


def show(
    model: ModelArgument = None,
    stage: Annotated[str | None, typer.Argument(help="One stage alone.")] = None,
    history: Annotated[bool, typer.Option("--history", help="Every stored result, oldest first.")] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="List results that newer ones replace, and unread captures."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --prune: remove them.")] = False,
    device: DeviceOption = "auto",
    emulated: EmulatedOption = False,
    dtype: DtypeOption = None,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Show what is stored: of one model stage by stage, or of every model."""
    out = Output(json, lang)
    only = stage_named(stage).name if stage else ""
    if prune:
        _prune(out, _name(out, model), yes)
        return
    if model is None:
        _history(out, Workspace.open(), "", only) if history else _all(out)
        return
    with open_pipeline(out, model, None, device=device, emulated=emulated, dtype=dtype or "") as pipeline:
        context = pipeline.settled()
    if history:
        _history(out, context.workspace, context.recipe.name, only)
    else:
        _model(out, context, only)


def _name(out: Output, model: str | None) -> str:
    """The name that the results of ``model`` lie under; empty for all."""
    from npukit.target import recipe_of

    return recipe_of(model).name if model else ""


def _model(out: Output, context: Context, only: str) -> None:
    rows: list[dict[str, Any]] = []
    for stage, found in gather(context).found.items():
        if only and stage != only:
            continue
        judged = found.judged
        rows.append(
            {
                "stage": stage,
                "verdict": None if judged is None else "pass" if judged.passed else "fail",
                "current": found.current,
                "why": list(found.why),
                "result": None if judged is None else judged.to_json(),
            }
        )
    name = context.recipe.name
    disk = {
        "model": size_bytes(context.workspace.model_dir(name)),
        "results": size_bytes(context.workspace.root / "results" / name),
        "captures": sum(map(size_bytes, context.workspace.captures.glob(f"{name}-*"))),
    }

    def human(console: Console) -> None:
        titles = (
            ("stage", "阶段"),
            ("verdict", "结论"),
            ("age", "距今"),
            ("current", "是否有效"),
        )
        wide = console.width >= WIDE  # a path in pieces is of no use; --json has it
        table = _table(out, (*titles, ("file", "文件")) if wide else titles)
        for row in rows:
            result = row["result"]
            style = VERDICT_STYLE.get(str(row["verdict"]), "dim")
            table.add_row(
                str(row["stage"]),
                f"[{style}]{row['verdict'] or '-'}[/{style}]",
                _age(result["started"]) if result else "-",
                out.say("yes", "是") if row["current"] else escape("; ".join(row["why"])),
                *([escape(result["path"]) if result else "-"] if wide else []),
            )
        console.print(table)
        console.print("  ".join(f"{kind} {_size(count)}" for kind, count in disk.items()), style="dim")

    document = {"model": name, "device": str(context.device), "stages": rows, "bytes": disk}
    out.emit(document, human)


def _history(out: Output, workspace: Workspace, model: str, only: str) -> None:
    """Every stored result, and what made it another one than the result before it."""
    rows: list[dict[str, Any]] = []
    last: dict[tuple[str, str, str], Any] = {}
    for result, path in workspace.results(model, stage=only):
        series = (result.model, result.device, result.stage)
        before = last.get(series)
        changed = differences(before.inputs, result.inputs) if before else []
        rows.append(
            {
                "model": result.model,
                "stage": result.stage,
                "device": result.device,
                "started": result.started,
                "duration_s": result.duration_s,
                "emulated": result.emulated,
                "changed": changed,
                "path": str(path),
            }
        )
        last[series] = result

    def human(console: Console) -> None:
        titles = (
            ("model", "模型"),
            ("stage", "阶段"),
            ("device", "设备"),
            ("started", "开始时间"),
            ("s", "秒"),
            ("changed", "变化"),
        )
        table = _table(out, titles)
        for row in rows:
            device = row["device"] + (" (emulated)" if row["emulated"] else "")
            table.add_row(
                row["model"], row["stage"], device, row["started"], f"{row['duration_s']:.1f}",
                escape("; ".join(row["changed"])) or "-",
            )  # fmt: skip
        console.print(table)

    out.emit({"results": rows}, human)


def _prune(out: Output, model: str, yes: bool) -> None:
    workspace = Workspace.open()
    spent = superseded(workspace, model) + unused(workspace, model)
    if yes:
        remove(spent)
    total = sum(one.bytes for one in spent)

    def human(console: Console) -> None:
        for one in spent:
            console.print(
                f"{_size(one.bytes):>10}  {escape(str(one.path))}  [dim]{one.why}[/dim]", soft_wrap=True
            )
        did = out.say("removed", "已删除") if yes else out.say("to remove", "可删除")
        console.print(f"{did}: {len(spent)}, {_size(total)}")
        if spent and not yes:
            console.print(f"npukit show {model + ' ' if model else ''}--prune --yes")

    rows = [{"path": str(one.path), "bytes": one.bytes, "why": one.why} for one in spent]
    out.emit({"removed": yes, "bytes": total, "files": rows}, human)


def _all(out: Output) -> None:
    workspace = Workspace.open()
    rows = [
        {
            "model": result.model,
            "device": result.device,
            "stage": result.stage,
            "started": result.started,
            "emulated": result.emulated,
            "path": str(path),
        }
        for result, path in workspace.results()
    ]
    disk = sizes(workspace)

    def human(console: Console) -> None:
        if not rows:
            console.print(
                out.say("nothing is measured yet:", "尚无测量结果：") + " npukit run tiny-minicpm-v"
            )
            return
        table = _table(out, (("model", "模型"), ("device", "设备"), ("stage", "阶段"), ("age", "距今")))
        for row in rows:
            device = f"{row['device']} (emulated)" if row["emulated"] else str(row["device"])
            table.add_row(str(row["model"]), device, str(row["stage"]), _age(str(row["started"])))
        console.print(table)
        console.print(
            "  ".join(f"{place} {_size(count)}" for place, count in disk.items()), style="dim", soft_wrap=True
        )
        console.print(
            out.say(
                "npukit show MODEL   # verdicts, and what is current",
                "npukit show MODEL   # 查看结论与有效性",
            )
        )

    out.emit({"results": rows, "bytes": disk, "home": str(workspace.root)}, human)


def _table(out: Output, titles: Sequence[tuple[str, str]]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for title in titles:
        table.add_column(out.say(*title), overflow="fold")
    return table


def _age(started: str) -> str:
    """3 min, 5 h, 2 d."""
    seconds = (datetime.now(timezone.utc) - datetime.fromisoformat(started)).total_seconds()
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
