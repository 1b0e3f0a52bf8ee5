"""Which model a command means, and the recipe of a model that has none."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path

from npukit.errors import NpukitError
from npukit.recipe import NAME_BYTES, Prompt, Recipe, Source, find_recipe
from npukit.tasks import detect_task
from npukit.workspace import Workspace

HUBS = {"hf": "huggingface", "ms": "modelscope", "gc": "gitcode"}
HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")  # OWNER/NAME, as hubs show it
# a model of unknown abilities is asked what any language model answers somehow
DEFAULT_PROMPTS = (
    Prompt(id="english", text="The capital of France is"),
    Prompt(id="chinese", text="中国的首都是"),
)


def meant(argument: str | None, option: str | None, workspace: Workspace) -> tuple[str, str]:
    """What a user names and how it was named. Raises NpukitError ``recipe.none-meant``."""
    for value, why in (
        (argument, "the argument"),
        (option, "--model"),
        (os.environ.get("NPUKIT_MODEL"), "$NPUKIT_MODEL"),
        (workspace.last_model(), "fetched last"),
    ):
        if value:
            return value, why
    raise NpukitError("recipe.none-meant")


def recipe_of(model: str) -> Recipe:
    """The recipe of a name, a ``.toml``, a directory, or a hub id. A path holds a separator."""
    hub, _, repo = model.partition(":")
    if hub in HUBS and repo:
        return _of_hub(HUBS[hub], repo)
    if os.sep in model and not model.endswith(".toml"):
        if HUB_ID.fullmatch(model) and not Path(model).exists():
            raise NpukitError("recipe.of-a-hub", path=model)
        return _of_directory(Path(model).expanduser())
    return find_recipe(model)


def _of_hub(hub: str, repo: str) -> Recipe:
    source = dataclasses.replace(Source(order=(hub,)), **{hub: repo})  # type: ignore[arg-type]
    return Recipe(name=_name(repo), title=repo, task="auto", source=source, prompts=DEFAULT_PROMPTS)


def _of_directory(directory: Path) -> Recipe:
    if not directory.is_dir():
        raise NpukitError("recipe.no-directory", path=str(directory))
    source = Source(order=("local",), local=str(directory.resolve()))
    title = directory.resolve().name
    return Recipe(name=_name(title), title=title, task="auto", source=source, prompts=DEFAULT_PROMPTS)


def task_of(directory: Path) -> str:
    """The task of the model in ``directory``. Raises NpukitError ``recipe.no-config``."""
    try:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NpukitError("recipe.no-config", path=str(directory), reason=str(error)) from error
    if not isinstance(config, dict):
        raise NpukitError("recipe.no-config", path=str(directory), reason="it is no JSON object")
    return detect_task(config)


def _name(text: str) -> str:
    """A name for files, from a hub id or a directory's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "--", text).strip("-._")[:NAME_BYTES] or "model"


def to_toml(recipe: Recipe) -> str:
    """A derived recipe as a file to start from."""

    def text(value: str) -> str:
        return json.dumps(value, ensure_ascii=False)  # a JSON text is a TOML basic string

    hub = recipe.source.order[0]
    lines = [
        f"# npukit run ./{recipe.name}.toml",
        "schema = 1",
        f"name = {text(recipe.name)}",
        f"title = {text(recipe.title)}",
        f'task = {text(recipe.task)}   # or "text-generation", "image-text-to-text"',
        "",
        "[source]",
        f"order = [{text(hub)}]",
        f"{hub} = {text(str(getattr(recipe.source, hub)))}",
        "",
        "[load]",
        f"dtype = {text(recipe.load.dtype)}",
    ]
    for prompt in recipe.prompts:
        lines += ["", "[[prompts]]", f"id = {text(prompt.id)}", f"text = {text(prompt.text)}"]
        lines += ["expect = []   # words that only a right answer holds"]
    return "\n".join(lines) + "\n"
