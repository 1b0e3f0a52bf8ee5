"""Classes made known to transformers' Auto classes, in npukit's worker only."""

from __future__ import annotations

from dataclasses import dataclass

from npukit.patches.base import Change, Patch, Situation, Words, unfit
from npukit.patches.tree import Tree

AUTO = ("AutoModelForCausalLM", "AutoModelForImageTextToText", "AutoModel")


@dataclass(frozen=True)
class Options:
    """``config`` and ``model`` name a class of transformers (``LlamaConfig``), or one in a file of the
    model's own code as ``auto_map`` does (``configuration_x.XConfig``). ``model_type`` is for a
    configuration class that AutoConfig does not know either."""

    config: str = ""
    model: str = ""
    auto: str = "AutoModelForCausalLM"
    model_type: str = ""


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    if not options.config or not options.model:
        raise unfit(PATCH.name, "the recipe", "config and model are both needed")
    if options.auto not in AUTO:
        raise unfit(PATCH.name, "the recipe", f"auto is {options.auto!r}, none of {', '.join(AUTO)}")
    for reference in (options.config, options.model):
        file, dot, _ = reference.rpartition(".")
        if dot and not tree.has(f"{file}.py"):
            raise unfit(PATCH.name, f"{file}.py", f"it is not there, and {reference} is in it")
    entry = {
        "do": "register", "auto": options.auto, "config": options.config, "model": options.model,
        "model_type": options.model_type,
    }  # fmt: skip
    return Change(f"{options.auto}: {options.config} → {options.model}", worker=(entry,))


PATCH = Patch(
    name="register-class",
    why=Words(
        "The class exists, in transformers or in the model's own code, but no Auto class leads to it.",
        "类已存在于 transformers 或模型自带代码中，但没有 Auto 类指向它。",
    ),
    how=Words(
        "npukit's worker registers it before it loads the model; no file and no other process is changed.",
        "npukit 的工作进程在加载模型前注册该类；不改动任何文件，也不影响其他进程。",
    ),
    symptom="ValueError: Unrecognized configuration class <class ...> for this kind of AutoModel: ...",
    upstream=(),
    remove_when=Words("auto_map or transformers names the class.", "auto_map 或 transformers 已包含该类时。"),
    options=Options,
    edit=edit,
)
