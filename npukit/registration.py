"""The worker's half of patches that change no file: classes made known, attributes and tables supplied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
import transformers
from transformers.dynamic_module_utils import get_class_from_dynamic_module

from npukit.errors import NpukitError
from npukit.patches.arithmetic import evaluate


def apply(entries: Iterable[Mapping[str, Any]], directory: str, trust_remote_code: bool) -> None:
    """What ``entries`` (as the patch stage recorded them) ask for before a model is loaded.

    Classes of the model's own code are taken from ``directory``, and only where that is trusted.
    Raises patch.no-class, remote-code.refused.
    """
    for entry in entries:
        if entry["do"] == "register":
            _register(entry, directory, trust_remote_code)
        elif entry["do"] == "attributes":
            config = _class(entry["config"], directory, trust_remote_code)
            for name, expression in entry["set"].items():
                _supply(config, name, str(expression))


def finish(entries: Iterable[Mapping[str, Any]], model: Any) -> None:
    """What ``entries`` ask for once the weights are in, and before the model goes to its device."""
    if any(entry["do"] == "buffers" for entry in entries):
        _rebuild_buffers(model)


def _register(entry: Mapping[str, Any], directory: str, trust_remote_code: bool) -> None:
    config = _class(entry["config"], directory, trust_remote_code)
    model = _class(entry["model"], directory, trust_remote_code)
    if entry["model_type"]:
        config.model_type = entry["model_type"]
        transformers.AutoConfig.register(entry["model_type"], config, exist_ok=True)
    if getattr(model, "config_class", None) is not config:
        model.config_class = config  # register() insists that they agree
    getattr(transformers, entry["auto"]).register(config, model, exist_ok=True)


def _class(reference: str, directory: str, trust_remote_code: bool) -> Any:
    file, dot, name = reference.rpartition(".")
    if not dot:
        found = getattr(transformers, name, None)
        if found is None:
            raise NpukitError("patch.no-class", reference=reference, version=transformers.__version__)
        return found
    if not trust_remote_code:
        raise NpukitError("remote-code.refused", directory=directory, files=f"{file}.py")
    return get_class_from_dynamic_module(reference, directory)


def _supply(config: Any, name: str, expression: str) -> None:
    """A property that computes the value, unless the class has the attribute or an instance its own value."""
    if hasattr(config, name):
        return

    def compute(self: Any) -> int:
        return self.__dict__[name] if name in self.__dict__ else evaluate(expression, self.__dict__)

    def keep(self: Any, value: Any) -> None:
        self.__dict__[name] = value

    setattr(config, name, property(compute, keep))


@torch.no_grad()
def _rebuild_buffers(model: Any) -> None:
    """Copy every buffer that no checkpoint holds from a model of the same class made in memory."""
    saved = set(model.state_dict())
    unsaved = {name: buffer for name, buffer in model.named_buffers() if name not in saved}
    if unsaved:
        fresh = dict(type(model)(model.config).named_buffers())
        for name, buffer in unsaved.items():
            buffer.copy_(fresh[name].to(buffer.dtype))
