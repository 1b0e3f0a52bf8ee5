"""config.json names classes that the reader does not have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from npukit.patches.base import Change, Patch, Situation, Words, unfit
from npukit.patches.tree import Tree

FILE = "config.json"


@dataclass(frozen=True)
class Options:
    """``auto_map`` replaces the whole map; ``expect`` is what ``architectures`` must hold before."""

    architectures: tuple[str, ...] = ()
    auto_map: dict[str, Any] = field(default_factory=dict)
    drop_auto_map: bool = False
    model_type: str = ""
    expect: tuple[str, ...] = ()


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    document = tree.document(FILE)
    wanted: dict[str, Any] = {}
    if options.architectures:
        wanted["architectures"] = list(options.architectures)
    if options.auto_map:
        wanted["auto_map"] = options.auto_map
    if options.model_type:
        wanted["model_type"] = options.model_type
    after = {**document, **wanted}
    if options.drop_auto_map:
        after.pop("auto_map", None)
    if after == document:
        return Change("the classes are named so already")
    found = document.get("architectures")
    if options.expect and found != list(options.expect):
        raise unfit(PATCH.name, FILE, f"architectures is {found}, expected {list(options.expect)}")
    return Change(", ".join(_words(document, after)), {FILE: tree.rewritten(FILE, after)})


def _words(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    keys = [key for key in ("architectures", "auto_map", "model_type") if before.get(key) != after.get(key)]
    return [f"{key}: {before.get(key)} → {after.get(key)}" for key in keys]


PATCH = Patch(
    name="architectures",
    why=Words(
        "The configuration names a class, or a file of code, that the program reading it does not have.",
        "配置中写的类或代码文件，在读取它的程序中并不存在。",
    ),
    how=Words(
        "architectures, auto_map or model_type are rewritten in the copy.",
        "在副本中改写 architectures、auto_map 或 model_type。",
    ),
    symptom="ValueError: Unrecognized configuration class <class ...> for this kind of AutoModel: ...",
    upstream=(),
    remove_when=Words("The reader knows the classes by their own names.", "读取程序已支持原有类名时。"),
    options=Options,
    edit=edit,
)
