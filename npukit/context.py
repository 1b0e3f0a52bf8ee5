"""What a stage is given: recipe, workspace, options, and what the stages before it settled."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from npukit.accelerations import versions_of, wanted
from npukit.devices.name import DeviceName
from npukit.errors import NpukitError
from npukit.fingerprint import digest, file_sha256
from npukit.host.packages import versions
from npukit.recipe import Prompt, Recipe
from npukit.sources.order import FetchOptions
from npukit.workspace import Workspace

# the packages whose versions decide what a model answers, and so are part of every measurement's key
DECIDING = ("torch", "transformers", "tokenizers", "numpy", "pillow")


@dataclass(frozen=True)
class Options:
    """What a user asked of this run; empty means as the recipe says."""

    device: DeviceName = field(default_factory=lambda: DeviceName("cpu"))
    dtype: str = ""
    strict: bool = False
    layers: bool = False
    reference: str = ""
    against: str = ""
    bisect: bool = False
    suite: str = ""
    trust_remote_code: bool = False
    wheelhouse: str = ""
    emulated: bool = False
    accelerate: bool = True
    fetch: FetchOptions = field(default_factory=FetchOptions)
    warmup: int | None = None
    rounds: int | None = None
    new_tokens: int | None = None
    seconds: float | None = None
    batch: int = 1
    prompt_tokens: int = 0  # 0: as the prompt has
    sustained_tokens: int = 0


@dataclass(frozen=True)
class Context:
    """``directory`` holds the files to load and ``weights`` names their content, once fetch has run;
    ``patched`` and ``sandbox`` are what patch made of them, ``registrations`` what it asks of the worker."""

    recipe: Recipe
    workspace: Workspace
    options: Options
    directory: Path | None = None
    weights: str = ""
    patched: str = ""
    sandbox: Path | None = None
    trusts_code: bool = False
    registrations: tuple[dict[str, Any], ...] = ()

    @property
    def device(self) -> DeviceName:
        return self.options.device

    @property
    def dtype(self) -> str:
        return self.options.dtype or self.recipe.load.dtype

    @property
    def accelerations(self) -> list[str]:
        """The accelerations to try."""
        return wanted(self.recipe.load.accelerate) if self.options.accelerate else []

    @cached_property
    def environment(self) -> dict[str, str]:
        """The identity of what computes, as named texts, read without importing anything of it."""
        names = (*DECIDING, "torch_npu") if self.device.kind == "npu" else DECIDING
        installed = {name: v for name, v in versions(names, self.sandbox).items() if v is not None}
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return {"python": python, **installed, **device_identity(self.device, self.options.emulated)}

    def load(self, **changes: Any) -> dict[str, Any]:
        """The fields of the worker's LoadSpec."""
        if self.directory is None:
            raise ValueError("nothing is fetched yet")
        return {
            "directory": str(self.directory),
            "task": self.recipe.task,
            "dtype": self.dtype,
            "attention": self.recipe.load.attention,
            "precision": self.recipe.load.precision,
            "trust_remote_code": self.trusts_code,
            "accelerate": self.accelerations,
            "registrations": list(self.registrations),
            **changes,
        }

    def load_inputs(self, **changes: Any) -> dict[str, Any]:
        """The same as inputs of a key: no path in it."""
        load = self.load(**changes)
        del load["directory"]
        load["accelerate"] = versions_of(load["accelerate"])
        return {"weights": self.weights, "patched": self.patched, "load": load}

    # --- prompts

    def prompts(self) -> list[dict[str, Any]]:
        """The recipe's prompts as the worker wants them, pictures by path."""
        return [{"id": p.id, "messages": self.messages(p)} for p in self.recipe.prompts]

    def messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        images = [{"type": "image", "path": str(self.picture(name))} for name in prompt.images]
        system = [{"role": "system", "content": [{"type": "text", "text": prompt.system}]}]
        user = {"role": "user", "content": [*images, {"type": "text", "text": prompt.text}]}
        return [*(system if prompt.system else []), user]

    def prompt_inputs(self) -> dict[str, str]:
        """A digest per prompt, pictures by content."""

        def one(prompt: Prompt) -> str:
            pictures = [file_sha256(self.picture(name)) for name in prompt.images]
            return digest([prompt.text, prompt.system, pictures])

        return {prompt.id: one(prompt) for prompt in self.recipe.prompts}

    def picture(self, name: str) -> Path:
        """A picture that a recipe names: beside the recipe, an asset, of the model, or built in."""
        from npukit.builtin import PICTURES

        beside = Path(self.recipe.path).parent if self.recipe.path else Path()
        asset = self.workspace.assets(self.recipe.name) / name
        model = [self.directory / name] if self.directory else []
        places = [beside / name, asset, *model, PICTURES / name]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise NpukitError("picture.missing", path=str(places[0]))
        return found


def device_identity(device: DeviceName, emulated: bool = False) -> dict[str, str]:
    """What tells one device from another kind of the same name."""
    if device.kind == "npu" and emulated:
        from npukit.emulator.environment import Machine

        machine = Machine()
        return {"device": str(device), "chip": f"emulated {machine.soc}", "cann": f"emulated {machine.cann}"}
    if device.kind == "npu":
        from npukit.host.cann import cann
        from npukit.host.npu_smi import npu_cards

        cards = npu_cards()
        name = cards[device.index].name if device.index < len(cards) else ""
        return {"device": str(device), **({"chip": name} if name else {}), "cann": cann().version}
    if device.kind == "cpu":
        from npukit.host.machine import LocalHost
        from npukit.host.system import cpu_model

        host = LocalHost()
        return {"device": "cpu", "cpu": cpu_model(host.read("/proc/cpuinfo") or "")}
    return {"device": str(device)}
