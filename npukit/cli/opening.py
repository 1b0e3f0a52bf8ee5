"""What every command over a model does first: which model, which device, a pipeline over them."""

from __future__ import annotations

from typing import Any

from npukit.cli.output import Output
from npukit.context import Context, Options
from npukit.devices.choice import choose_device
from npukit.pipeline import Pipeline
from npukit.target import meant, recipe_of
from npukit.workspace import Workspace


def open_pipeline(
    out: Output,
    model: str | None,
    option: str | None,
    *,
    device: str = "cpu",
    wait_s: float = 0.0,
    **options: Any,
) -> Pipeline:
    """A pipeline over the model that is meant; what was chosen for the user is said on stderr."""
    workspace = Workspace.open()
    name, how = meant(model, option, workspace)
    recipe = recipe_of(name)
    chosen, why = choose_device(device)
    said = [f"model {recipe.name} ({how})"] if how not in ("the argument", "--model") else []
    said += [f"device {chosen} ({why})"] if device == "auto" else []
    if said:
        out.progress(", ".join(said))
    context = Context(recipe, workspace, Options(device=chosen, **options))
    return Pipeline(context, out.progress, wait_s=wait_s)
