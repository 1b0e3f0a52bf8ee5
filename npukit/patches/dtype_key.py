"""config.json says dtype where an older transformers looks for torch_dtype."""

from __future__ import annotations

from dataclasses import dataclass

from npukit.patches.base import Change, Patch, Situation, Words
from npukit.patches.tree import Tree, sections

FILE = "config.json"


@dataclass(frozen=True)
class Options:
    pass


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    if not situation.before("4.56"):
        return Change(f"transformers {situation.transformers} reads both spellings")
    document = tree.document(FILE)
    renamed = [
        prefix
        for prefix, section in sections(document)
        if isinstance(section.get("dtype"), str) and "torch_dtype" not in section
    ]
    if not renamed:
        return Change("dtype is not used")
    for prefix, section in sections(document):
        if prefix in renamed:
            kept = {"torch_dtype" if key == "dtype" else key: value for key, value in section.items()}
            section.clear()
            section.update(kept)
    keys = ", ".join(f"{prefix}dtype" for prefix in renamed)
    return Change(f"{keys} → torch_dtype", {FILE: tree.rewritten(FILE, document)})


PATCH = Patch(
    name="dtype-key",
    why=Words(
        "From 4.56 on transformers writes dtype; earlier ones read torch_dtype and pass the other over.",
        "transformers 自 4.56 起写入 dtype；更早的版本只读取 torch_dtype，会忽略前者。",
    ),
    how=Words(
        "dtype is renamed to torch_dtype, in nested configurations too.",
        "将 dtype 改名为 torch_dtype，嵌套配置同样处理。",
    ),
    symptom="weights are loaded as float32, twice the expected memory, without a word",
    upstream=("https://github.com/huggingface/transformers/pull/39782",),
    remove_when=Words("transformers 4.56 or newer reads the files.", "改用 transformers 4.56 或更新版本时。"),
    options=Options,
    edit=edit,
    standing=True,
)
