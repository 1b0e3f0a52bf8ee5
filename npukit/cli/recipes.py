"""``npukit recipes``: list, show, copy, check and derive recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from npukit.cli.options import JsonOption, LangOption
from npukit.cli.output import Output
from npukit.errors import ExitStatus, NpukitError
from npukit.recipe import Recipe, find_recipe, load_recipe, recipe_files
from npukit.target import recipe_of, to_toml
from npukit.workspace import write_atomic

app = typer.Typer()


@app.callback(invoke_without_command=True)
def _list_by_default(context: typer.Context, json: JsonOption = False, lang: LangOption = None) -> None:
    if context.invoked_subcommand is None:
        list_recipes(json, lang)


def _row(recipe: Recipe) -> dict[str, object]:
    return {
        "name": recipe.name,
        "title": recipe.title,
        "task": recipe.task,
        "sources": list(recipe.source.order or recipe.source.only),
        "dtype": recipe.load.dtype,
        "requires": list(recipe.runtime.requires),
        "path": recipe.path,
    }


@app.command("list")
def list_recipes(json: JsonOption = False, lang: LangOption = None) -> None:
    """List every recipe that can be named."""
    out = Output(json, lang)
    rows, broken = [], []
    for path in recipe_files().values():
        try:
            rows.append(_row(load_recipe(path)))
        except NpukitError as error:  # one broken file hides no other
            broken.append({"path": str(path), **error.to_json(out.lang)})

    def human(console: Console) -> None:
        table = Table(show_edge=False, pad_edge=False)
        for column in ("recipe", "model", "task", "dtype", "sources"):
            table.add_column(column, overflow="fold")
        for row in rows:
            sources = ", ".join(row["sources"])  # type: ignore[arg-type]
            table.add_row(*(str(row[k]) for k in ("name", "title", "task", "dtype")), sources)
        console.print(table)
        for each in broken:
            console.print(each["what"], markup=False, style="red")

    out.emit({"recipes": rows, "broken": broken}, human)


@app.command("show")
def show(name: str, json: JsonOption = False, lang: LangOption = None) -> None:
    """Print one recipe as it is written."""
    import dataclasses

    recipe = find_recipe(name)
    text = Path(recipe.path).read_text(encoding="utf-8")

    def human(console: Console) -> None:
        if console.is_terminal:
            console.print(Syntax(text, "toml", background_color="default", word_wrap=True))
        else:
            console.print(text, markup=False, end="")

    Output(json, lang).emit({"recipe": dataclasses.asdict(recipe)}, human)


@app.command("copy")
def copy(
    name: str,
    to: Annotated[
        Path | None, typer.Argument(help="The file, or the directory for NAME.toml; the default is here.")
    ] = None,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Copy a recipe to a file of your own, to change and run by its path."""
    recipe = find_recipe(name)
    target = _free(to or Path(), recipe.name)
    write_atomic(target, Path(recipe.path).read_bytes())
    _written(target, json, lang)


@app.command("new")
def new(
    model: Annotated[str, typer.Argument(help="hf:OWNER/NAME, ms:OWNER/NAME, or a model directory (./m).")],
    to: Annotated[
        Path | None, typer.Argument(help="The file, or the directory for NAME.toml; the default is here.")
    ] = None,
    json: JsonOption = False,
    lang: LangOption = None,
) -> None:
    """Write a recipe to start from, for a model that has none."""
    recipe = recipe_of(model)
    target = _free(to or Path(), recipe.name)
    write_atomic(target, to_toml(recipe).encode())
    _written(target, json, lang)


def _free(to: Path, name: str) -> Path:
    """The file to write, NAME.toml in a directory. Raises NpukitError ``recipe.exists``."""
    target = to / f"{name}.toml" if to.is_dir() else to
    if target.exists():
        raise NpukitError("recipe.exists", path=str(target))
    return target


def _written(target: Path, json: bool, lang: str | None) -> None:
    runnable = str(target) if target.parent.parts else f"./{target}"
    Output(json, lang).emit({"path": str(target)}, lambda c: c.print(f"{target}   # npukit run {runnable}"))


@app.command("check")
def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names or files; the default is every recipe.")
    ] = None,
    json: JsonOption = False,
    lang: LangOption = None,
) -> int:
    """Prove recipes well formed; every fault of every one is listed."""
    out = Output(json, lang)
    rows = []
    for name in names or list(recipe_files()):
        try:
            find_recipe(name)
            rows.append({"recipe": name, "ok": True, "faults": ""})
        except NpukitError as error:
            if error.code in ("recipe.unknown", "recipe.unlike", "recipe.not-recipe"):
                raise  # there is nothing that could be well formed
            rows.append({"recipe": name, "ok": False, "faults": str(error)})

    def human(console: Console) -> None:
        for row in rows:
            mark = "[green]ok[/green]" if row["ok"] else "[bold red]wrong[/bold red]"
            console.print(f"{mark}  {row['recipe']}")
            if row["faults"]:
                console.print(str(row["faults"]), markup=False)

    out.emit({"recipes": rows}, human)
    return int(ExitStatus.PASSED if all(row["ok"] for row in rows) else ExitStatus.USAGE)
