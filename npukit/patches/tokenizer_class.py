"""tokenizer_config.json names a class that only transformers 5 has."""

from __future__ import annotations

from dataclasses import dataclass

from npukit.patches.base import Change, Patch, Situation, Words
from npukit.patches.tree import Tree

FILE = "tokenizer_config.json"
GENERIC = "TokenizersBackend"  # transformers 5's name for what both know as PreTrainedTokenizerFast
INPUTS = ["input_ids", "attention_mask"]  # what the class gives in transformers 5


@dataclass(frozen=True)
class Options:
    to: str = "PreTrainedTokenizerFast"


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    if not tree.has(FILE):
        return Change(f"there is no {FILE}")
    document = tree.document(FILE)
    found = document.get("tokenizer_class")
    if found != GENERIC:
        return Change(f"tokenizer_class is {found}")
    if not situation.before("5"):
        return Change(f"transformers {situation.transformers} knows {GENERIC}")
    document["tokenizer_class"] = options.to
    # Its inputs too: the older class would add token_type_ids, which most models refuse.
    document.setdefault("model_input_names", INPUTS)
    return Change(f"tokenizer_class: {GENERIC} → {options.to}", {FILE: tree.rewritten(FILE, document)})


PATCH = Patch(
    name="tokenizer-class",
    why=Words(
        "The tokenizer was saved by transformers 5, whose generic fast class has a name that 4.x lacks.",
        "分词器由 transformers 5 保存，其通用快速分词器类名在 4.x 中不存在。",
    ),
    how=Words(
        "tokenizer_class becomes PreTrainedTokenizerFast, the same class under the name both versions have; "
        "model_input_names keeps its inputs what they are in transformers 5.",
        "将 tokenizer_class 改为 PreTrainedTokenizerFast，即同一个类在两个版本中共有的名称；"
        "并用 model_input_names 使其输入与 transformers 5 中一致。",
    ),
    symptom="ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.",
    upstream=("https://github.com/jingyaogong/minimind/issues/578",),
    remove_when=Words("transformers 5 is what reads the files.", "改用 transformers 5 读取文件时。"),
    options=Options,
    edit=edit,
    standing=True,
)
