"""Attributes that a configuration class lacks, supplied in npukit's worker only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from npukit.patches.base import Change, Patch, Situation, Words, unfit
from npukit.patches.tree import Tree


@dataclass(frozen=True)
class Options:
    """``config`` as in register-class; ``set`` maps an attribute to a sum over others."""

    config: str = ""
    set: dict[str, Any] = field(default_factory=dict)


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    if not options.config or not options.set:
        raise unfit(PATCH.name, "the recipe", "config and set are both needed")
    file, dot, _ = options.config.rpartition(".")
    if dot and not tree.has(f"{file}.py"):
        raise unfit(PATCH.name, f"{file}.py", f"it is not there, and {options.config} is in it")
    entry = {"do": "attributes", "config": options.config, "set": dict(options.set)}
    words = ", ".join(f"{key} = {value}" for key, value in options.set.items())
    return Change(f"{options.config}: {words}", worker=(entry,))


PATCH = Patch(
    name="config-attributes",
    why=Words(
        "The configuration class keeps only keys it knows, so one that other code asks for cannot be put "
        "into config.json.",
        "该配置类只保留它认识的键，因此无法通过 config.json 补充其他代码所需的属性。",
    ),
    how=Words(
        "npukit's worker gives the class a property that computes it; the class's file stays as it is.",
        "npukit 的工作进程为该类添加一个计算该值的属性；类所在的文件保持不变。",
    ),
    symptom="AttributeError: '...Config' object has no attribute 'kv_lora_rank', with the key in config.json",
    upstream=(),
    remove_when=Words("The class has the attribute.", "该类已具有此属性时。"),
    options=Options,
    edit=edit,
)
