"""``npukit patch``: what the model needs in packages and files, made in private; shown, undone, removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table

from npukit.cli.opening import open_pipeline
from npukit.cli.options import ForceOption, JsonOption, LangOption, ModelArgument, ModelOption, TrustOption
from npukit.cli.output import Output
from npukit.cli.stage_view import print_stage
from npukit.context import Context
from npukit.errors import ExitStatus, NpukitError
from npukit.pipeline import Pipeline


def patch(
    model: ModelArgument = None,
    model_option: ModelOption = None,
    diff: Annotated[bool, typer.Option("--diff", help="Show what was changed, line by line, too.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be changed; write nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the patched copies of this model.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the sandbox of this model.")] = False,
    trust_remote_code: TrustOption = False,
    wheelhouse: Annotated[
        Path | None,
        typer.Option(
            "--wheelhouse", exists=True, help="Build the sandbox from these wheels, without a network."
        ),
    ] = None,
    download: Annotated[
        Path | None,
        typer.Option("--download", help="Gather such wheels in this directory, and do nothing else."),
    ] = None,
    platform: Annotated[
        str,
        typer.Option("--platform", help="With --download: aarch64 or x86_64; the default is this machine's."),
    ] = "",
    python: Annotated[
        str, typer.Option("--python", help="With --download: a Python such as 3.11; the default is this one.")
    ] = "",
    target: Annotated[
        str,
        typer.Option("--target", help="vllm: what vllm-ascend would make of the files, and a copy for it."),
    ] = "",
    release: Annotated[
        str, typer.Option("--release", help="With --target: its version; the default is the installed one's.")
    ] = "",
    list_patches: Annotated[bool, typer.Option("--list", help="List every patch there is.")] = False,
    force: ForceOption = False,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Make packages and files fit for the model, in private: nothing shared is touched."""
    out = Output(json, lang)
    acts = {"--list": list_patches, "--download": download, "--undo": undo, "--remove": remove}
    _one_of({**acts, "--target": target})
    _needs({"--platform": platform, "--python": python}, "--download", download)
    _needs({"--release": release}, "--target", target)
    if list_patches:
        return _list(out)
    house = str(wheelhouse) if wheelhouse else ""
    with open_pipeline(
        out, model, model_option, trust_remote_code=trust_remote_code, wheelhouse=house
    ) as pipeline:
        context = pipeline.context
        if download:
            return _download(out, context, download, platform, python)
        if undo:
            return _undo(out, context)
        if remove:
            return _remove(out, context)
        if target:
            from npukit.cli.patch_target import patch_for

            return patch_for(out, pipeline, target, release, dry_run)
        if dry_run:
            return _show(out, pipeline)
        return _run(out, pipeline, diff, force)


def _one_of(acts: dict[str, Any]) -> None:
    """Raises NpukitError ``usage.apart`` when more than one is asked for: only one would be done."""
    asked = [name for name, value in acts.items() if value]
    if len(asked) > 1:
        raise NpukitError("usage.apart", options=", ".join(asked), help="npukit patch --help")


def _needs(options: dict[str, Any], other: str, given: object) -> None:
    """Raises NpukitError ``usage.lone`` for an option that means nothing without ``other``."""
    for name, value in options.items():
        if value and not given:
            raise NpukitError("usage.lone", option=name, other=other, help="npukit patch --help")


def _run(out: Output, pipeline: Pipeline, diff: bool, force: bool) -> int:
    # Agreeing to code is an act, so it is done even where a result says that all is well.
    judged = pipeline.run("patch", force=force or pipeline.context.options.trust_remote_code)
    text = _diff_text(pipeline.context) if diff else ""

    def human(console: Console) -> None:
        print_stage(console, judged)
        if diff:
            _print_diff(console, text, out)

    out.emit({**judged.to_json(), **({"diff": text} if diff else {})}, human)
    return int(ExitStatus.PASSED if judged.passed else ExitStatus.FAILED)


def _show(out: Output, pipeline: Pipeline) -> int:
    from npukit.sandbox import lacking

    pipeline.ready(("fetch",))
    missing = lacking(pipeline.context.recipe.runtime.requires)
    text = _diff_text(pipeline.context)

    def human(console: Console) -> None:
        if missing:
            say = out.say("a sandbox is needed", "需要沙箱")
            console.print(f"{say}: {escape('; '.join(missing))}")
        _print_diff(console, text, out)

    out.emit({"lacking": missing, "diff": text}, human)
    return int(ExitStatus.PASSED)


def _diff_text(context: Context) -> str:
    """What the patches change in the published files, whether they are applied or not."""
    import dataclasses

    from npukit.proof import load
    from npukit.sandbox import find
    from npukit.stages.patch import compose, sandboxes_dir

    proof = load(context.workspace.model_dir(context.recipe.name))
    published = dataclasses.replace(context, directory=proof.root if proof else context.directory)
    box = find(context.recipe.runtime.requires, sandboxes_dir(context))
    return compose(published, box).diff()


def _print_diff(console: Console, text: str, out: Output) -> None:
    if not text:
        console.print(out.say("no file is changed", "没有文件需要改动"))
    elif console.is_terminal:
        console.print(Syntax(text, "diff", background_color="default", word_wrap=True))
    else:
        console.print(text, markup=False, end="")


def _undo(out: Output, context: Context) -> int:
    from npukit.overlay import undo
    from npukit.stages.patch import patched_dir

    gone = undo(patched_dir(context))
    words = out.say(
        f"removed the copies of {', '.join(gone)}; the published files were never changed"
        if gone
        else "nothing was patched",
        f"已删除 {'、'.join(gone)} 的副本；发布的文件从未改动" if gone else "没有已打补丁的文件",
    )
    out.emit({"undone": gone}, lambda console: console.print(escape(words)))
    return int(ExitStatus.PASSED)


def _remove(out: Output, context: Context) -> int:
    from npukit.sandbox import remove
    from npukit.stages.patch import sandboxes_dir

    gone = [str(path) for path in remove(sandboxes_dir(context), context.recipe.runtime.requires)]
    words = "\n".join(out.say(f"removed {path}", f"已删除 {path}") for path in gone)
    none = out.say("there is no sandbox for this model", "该模型没有沙箱")
    out.emit({"removed": gone}, lambda console: console.print(escape(words or none)))
    return int(ExitStatus.PASSED)


def _download(out: Output, context: Context, directory: Path, platform: str, python: str) -> int:
    from npukit.sandbox.wheelhouse import Target, download

    target, requires = Target(platform, python), context.recipe.runtime.requires
    packages = download(requires, directory, target) if requires else []

    def human(console: Console) -> None:
        if not packages:
            console.print(
                out.say("this model needs nothing beyond what is installed", "该模型无需额外软件包")
            )
            return
        for each in packages:
            console.print(escape(each.file))
        there = out.say("then, on the machine without a network", "然后在没有网络的机器上执行")
        console.print(f"{there}: npukit patch {context.recipe.name} --wheelhouse {escape(str(directory))}")

    files = {each.file: each.sha256 for each in packages}
    out.emit({"directory": str(directory), "requires": list(requires), "wheels": files}, human)
    return int(ExitStatus.PASSED)


def _list(out: Output) -> int:
    import dataclasses

    from npukit.patches import PATCHES

    def options(kind: type) -> dict[str, Any]:
        return {each.name: str(each.type) for each in dataclasses.fields(kind)}

    rows = [
        {
            "name": each.name,
            "standing": each.standing,
            "symptom": each.symptom,
            "why": each.why.of(out.lang),
            "how": each.how.of(out.lang),
            "remove_when": each.remove_when.of(out.lang),
            "upstream": list(each.upstream),
            "options": options(each.options),
        }
        for each in PATCHES.values()
    ]

    def human(console: Console) -> None:
        table = Table(show_edge=False, pad_edge=False, show_lines=True)
        for column in ("patch", "cures", "how", "options"):
            table.add_column(column, overflow="fold")
        for row, each in zip(rows, PATCHES.values(), strict=True):
            always = out.say("always", "始终生效") if each.standing else ", ".join(options(each.options))
            table.add_row(each.name, escape(each.symptom), escape(str(row["how"])), escape(always))
        console.print(table)

    out.emit({"patches": rows}, human)
    return int(ExitStatus.PASSED)
