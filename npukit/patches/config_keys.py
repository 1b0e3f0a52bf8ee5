"""Keys of a JSON file set or dropped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from npukit.patches.base import Change, Patch, Situation, Words, unfit
from npukit.patches.tree import Tree


@dataclass(frozen=True)
class Options:
    """Keys may be dotted (``text_config.rope_theta``). ``expect``: values that must stand there before."""

    file: str = "config.json"
    set: dict[str, Any] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    expect: dict[str, Any] = field(default_factory=dict)


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    document = tree.document(options.file)
    notes = []
    for key, value in options.set.items():
        section, name = _section(document, key, options.file)
        if section.get(name, ...) != value:
            _expected(section.get(name), key, options)
            notes.append(f"{key}: {section.get(name, 'absent')} → {value}")
            section[name] = value
    for key in options.drop:
        section, name = _section(document, key, options.file)
        if name in section:
            _expected(section[name], key, options)
            notes.append(f"{key}: {section.pop(name)} → absent")
    if not notes:
        return Change("the keys are so already")
    return Change("; ".join(notes), {options.file: tree.rewritten(options.file, document)})


def _section(document: dict[str, Any], key: str, file: str) -> tuple[dict[str, Any], str]:
    *path, name = key.split(".")
    for step in path:
        inner = document.get(step)
        if not isinstance(inner, dict):
            raise unfit(PATCH.name, file, f"there is no table {step} for {key}")
        document = inner
    return document, name


def _expected(found: Any, key: str, options: Options) -> None:
    if key in options.expect and found != options.expect[key]:
        raise unfit(PATCH.name, options.file, f"{key} is {found!r}, expected {options.expect[key]!r}")


PATCH = Patch(
    name="config-keys",
    why=Words(
        "A key leads the reader to a wrong class or path, or one it needs is missing.",
        "某个键会把读取程序引向错误的类或路径，或缺少它所需的键。",
    ),
    how=Words("Keys are set or dropped in the copy.", "在副本中设置或删除键。"),
    symptom="KeyError: (False, True) (vllm-ascend, for a stray index_topk), and others as the recipe says",
    upstream=(),
    remove_when=Words("The reader takes the file as it is published.", "读取程序可直接使用发布文件时。"),
    options=Options,
    edit=edit,
)
