"""``npukit patch --target vllm``: what another program would make of the files, and a copy that suits it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from npukit.cli.output import ChecksTable, Output
from npukit.errors import ExitStatus, NpukitError
from npukit.overlay import compose, undo, write
from npukit.patches import Situation, choose
from npukit.pipeline import Pipeline
from npukit.targets.model import read_model
from npukit.targets.release import release
from npukit.targets.vllm import remedies, report


def patch_for(out: Output, pipeline: Pipeline, target: str, version: str, dry_run: bool) -> int:
    """Report on the published files, make a patched copy where that mends something, report on the copy."""
    if target != "vllm":
        raise NpukitError("target.unknown", name=target)
    chosen, why = release(version)
    context = pipeline.ready(("fetch",))
    assert context.directory
    model = read_model(context.directory)
    before = report(model, chosen)
    entries = remedies(model, chosen)
    composed = compose(context.directory, choose(entries), Situation(chosen.reads))
    place = context.workspace.model_dir(context.recipe.name) / "for-vllm"
    after, directory = before, str(context.directory)
    if composed.edits and not dry_run:
        write(composed, place)
        after, directory = report(read_model(place), chosen), str(place)
    elif not dry_run:
        undo(place)
    passed = all(check.passed is not False for check in after)
    document: dict[str, Any] = {
        "target": f"vllm-ascend {chosen.version}",
        "why": why,
        "run": False,
        "checks": [check.to_json() for check in before],
        "patches": entries,
        "diff": composed.diff(),
        "directory": directory,
        "after": [check.to_json() for check in after],
        "passed": passed,
    }

    def human(console: Console) -> None:
        console.print(f"[bold]vllm-ascend {chosen.version}[/bold] ({escape(why)})")
        console.print(
            out.say(
                "read from the files and from that release's source; vLLM was not run",
                "根据文件与该版本源码判断；并未运行 vLLM",
            )
        )
        console.print(ChecksTable(before, out.say("as published", "发布的文件")))
        if after is not before:
            console.print(ChecksTable(after, out.say("patched copy", "打补丁后的副本")))
            console.print(f"vllm serve {escape(directory)}")
        elif composed.edits:
            console.print(composed.diff(), markup=False, end="")

    out.emit(document, human)
    return int(ExitStatus.PASSED if passed else ExitStatus.FAILED)
