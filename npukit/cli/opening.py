"""What every command over a model does first: which model, which device, a pipeline over them."""

from __future__ import annotations

import os
from typing import Any

from npukit.cli.output import Output
from npukit.context import Context, Options
from npukit.devices.choice import choose_device
from npukit.devices.name import DeviceName
from npukit.emulator.environment import refuse_beside_hardware
from npukit.errors import NpukitError
from npukit.pipeline import Pipeline
from npukit.target import meant, recipe_of
from npukit.workspace import Workspace


def open_pipeline(
    out: Output,
    model: str | None,
    option: str | None,
    *,
    device: str = "cpu",
    emulated: bool = False,
    wait_s: float = 0.0,
    **options: Any,
) -> Pipeline:
    """A pipeline over the model that is meant; what was chosen for the user is said on stderr."""
    workspace = Workspace.open()
    name, how = meant(model, option, workspace)
    recipe = recipe_of(name)
    chosen, why, emulated = _device(device, emulated)
    said = [f"model {recipe.name} ({how})"] if how not in ("the argument", "--model") else []
    said += [f"device {chosen} ({why})"] if device == "auto" else []
    if said:
        out.progress(", ".join(said))
    context = Context(recipe, workspace, Options(device=chosen, emulated=emulated, **options))
    return Pipeline(context, out.progress, wait_s=wait_s)


def _device(asked: str, emulated: bool) -> tuple[DeviceName, str, bool]:
    """The device, why, and whether it is emulated. Raises NpukitError ``device.*``, ``emulator.*``."""
    by_flag, by_variable = emulated, os.environ.get("NPUKIT_EMULATE") in ("1", "force")
    if not by_flag and not by_variable:
        return *choose_device(asked), False
    chosen, why = choose_device("npu" if asked == "auto" else asked)
    if chosen.kind != "npu":
        if by_flag:
            raise NpukitError("emulator.not-npu", device=str(chosen))
        return chosen, why, False
    refuse_beside_hardware(forced=os.environ.get("NPUKIT_EMULATE") == "force")
    return chosen, "emulated: no hardware", True
