"""A key that code asks for and config.json lacks, computed from keys it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from npukit.patches.arithmetic import evaluate
from npukit.patches.base import Change, Patch, Situation, Words, unfit
from npukit.patches.tree import Tree

FILE = "config.json"


@dataclass(frozen=True)
class Options:
    """``set`` maps a key to a sum over others: ``{kv_lora_rank = "head_dim - qk_rope_head_dim"}``."""

    set: dict[str, Any] = field(default_factory=dict)


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    document = tree.document(FILE)
    notes = []
    for key, expression in options.set.items():
        try:
            value = evaluate(str(expression), document)
        except ValueError as error:
            raise unfit(PATCH.name, FILE, f"{key}: {error}") from error
        if key not in document:
            notes.append(f"{key} = {expression} = {value}")
            document[key] = value
        elif document[key] != value:
            raise unfit(PATCH.name, FILE, f"{key} is {document[key]!r} already, {expression} gives {value}")
    if not notes:
        return Change("the keys are there already")
    return Change("; ".join(notes), {FILE: tree.rewritten(FILE, document)})


PATCH = Patch(
    name="config-derive",
    why=Words(
        "Code asks the configuration for an attribute that the published config.json does not carry.",
        "代码会读取发布的 config.json 中没有的配置属性。",
    ),
    how=Words(
        "The key is added to the copy, computed from keys that are there; the model's code stays as it is.",
        "由已有的键计算出该键并写入副本；模型代码保持不变。",
    ),
    symptom="AttributeError: 'DeepseekV4Config' object has no attribute 'kv_lora_rank'",
    upstream=(),
    remove_when=Words("The published config.json carries the key.", "发布的 config.json 已包含该键时。"),
    options=Options,
    edit=edit,
)
