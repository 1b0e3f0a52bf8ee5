"""Tensors renamed in a copy of the checkpoint, every one of them accounted for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from npukit.patches.base import Change, Patch, Situation, Streamed, Words, unfit
from npukit.patches.renamed_weights import RenamedWeights
from npukit.patches.tree import Tree
from npukit.proof.checkpoint import INDEX
from npukit.proof.headers import HeaderError, read_header

WEIGHTS = "*.safetensors"


@dataclass(frozen=True)
class Options:
    """``rename`` holds rules ``[pattern, replacement]``: regular expressions for whole names, as in
    ``['model\\.(.*)', '\\1']``. The first that fits a name decides; a name that none fits stays."""

    rename: tuple[list, ...] = ()


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    owners = _owners(tree)
    mapping, used = rename(list(owners), _rules(options))
    if idle := [pattern for pattern, count in used.items() if not count]:
        raise unfit(PATCH.name, WEIGHTS, f"the rule {idle[0]!r} fits no tensor")
    if twice := [name for name, count in Counter(mapping.values()).items() if count > 1]:
        raise unfit(PATCH.name, WEIGHTS, f"{len(twice)} names would be given twice, {twice[0]} first")
    changed = {old: new for old, new in mapping.items() if old != new}
    account = {
        "tensors": len(owners),
        "renamed": len(changed),
        "unchanged": len(owners) - len(changed),
        "rules": used,
        "names": changed,
    }
    files: dict[str, bytes | Streamed] = {
        file: RenamedWeights(tree.root / file, changed) for file in sorted({owners[old] for old in changed})
    }
    if tree.has(INDEX):
        index = tree.document(INDEX)
        index["weight_map"] = {mapping.get(old, old): file for old, file in index["weight_map"].items()}
        files[INDEX] = tree.rewritten(INDEX, index)
    note = f"{len(changed)} of {len(owners)} tensors renamed, none lost, none twice"
    return Change(note, files, account=account)


def rename(
    names: list[str], rules: list[tuple[re.Pattern[str], str]]
) -> tuple[dict[str, str], dict[str, int]]:
    """New name by old name, and how many names each rule decided."""
    used = {pattern.pattern: 0 for pattern, _ in rules}
    mapping = {name: name for name in names}
    for name in names:
        for pattern, replacement in rules:
            if match := pattern.fullmatch(name):
                mapping[name] = match.expand(replacement)
                used[pattern.pattern] += 1
                break
    return mapping, used


def _owners(tree: Tree) -> dict[str, str]:
    """The file of each tensor."""
    owners: dict[str, str] = {}
    for path in sorted(tree.root.glob(WEIGHTS)):
        try:
            tensors = read_header(path)
        except HeaderError as error:
            raise unfit(PATCH.name, path.name, str(error)) from error
        for tensor in tensors:
            if tensor.name in owners:
                raise unfit(PATCH.name, path.name, f"{tensor.name} is in {owners[tensor.name]} too")
            owners[tensor.name] = path.name
    if not owners:
        raise unfit(PATCH.name, WEIGHTS, "there is no such file with a tensor in it")
    return owners


def _rules(options: Options) -> list[tuple[re.Pattern[str], str]]:
    rules: list[tuple[re.Pattern[str], str]] = []
    for rule in options.rename:
        try:
            pattern, replacement = (str(part) for part in rule)
            rules.append((re.compile(pattern), replacement))
            re.compile(pattern).sub(replacement, "")
        except (ValueError, IndexError, re.error) as error:
            raise unfit(
                PATCH.name, "the recipe", f"{rule!r} is no [pattern, replacement]: {error}"
            ) from error
    if not rules:
        raise unfit(PATCH.name, "the recipe", "rename holds no rule")
    return rules


PATCH = Patch(
    name="weight-keys",
    why=Words(
        "The checkpoint's tensors have other names than the class that is to read them expects.",
        "权重文件中的张量名与读取它的类所期望的不同。",
    ),
    how=Words(
        "A copy of the checkpoint gets new names in its headers and index; the data is copied byte by byte.",
        "复制一份权重，仅改写文件头与索引中的名称；数据逐字节复制。",
    ),
    symptom="There is no module or parameter named 'embed_tokens' in ...; or: newly initialized weights",
    upstream=(),
    remove_when=Words("The reader maps the published names itself.", "读取程序能自行映射发布的名称时。"),
    options=Options,
    edit=edit,
)
