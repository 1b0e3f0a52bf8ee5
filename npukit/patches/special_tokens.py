"""tokenizer_config.json lists extra special tokens; transformers 4 wants them under another key."""

from __future__ import annotations

from dataclasses import dataclass

from npukit.patches.base import Change, Patch, Situation, Words, unfit
from npukit.patches.tree import Tree

FILE = "tokenizer_config.json"
NEW, OLD = "extra_special_tokens", "additional_special_tokens"


@dataclass(frozen=True)
class Options:
    pass


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    if not tree.has(FILE):
        return Change(f"there is no {FILE}")
    document = tree.document(FILE)
    if not isinstance(document.get(NEW), list):
        return Change(f"{NEW} is no list")
    if not situation.before("5"):
        return Change(f"transformers {situation.transformers} reads a list")
    if OLD in document:
        raise unfit(PATCH.name, FILE, f"both {NEW} and {OLD} are there")
    renamed = {OLD if key == NEW else key: value for key, value in document.items()}
    return Change(f"{NEW} → {OLD}", {FILE: tree.rewritten(FILE, renamed)})


PATCH = Patch(
    name="special-tokens",
    why=Words(
        "transformers 5 saves extra special tokens as a list; 4.x expects a table under that key.",
        "transformers 5 将额外的特殊 token 保存为列表，而 4.x 要求该键为字典。",
    ),
    how=Words(
        "The list moves to additional_special_tokens, which 4.x reads.",
        "将列表改放到 4.x 可读取的 additional_special_tokens 键下。",
    ),
    symptom="AttributeError: 'list' object has no attribute 'keys'",
    upstream=(),
    remove_when=Words("transformers 5 is what reads the files.", "改用 transformers 5 读取文件时。"),
    options=Options,
    edit=edit,
    standing=True,
)
