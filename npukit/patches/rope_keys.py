"""config.json keeps rope under rope_parameters, where transformers 4 does not look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from npukit.patches.base import Change, Patch, Situation, Words, unfit
from npukit.patches.tree import Tree, sections

FILE = "config.json"
NEW = "rope_parameters"


@dataclass(frozen=True)
class Options:
    pass


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    if not situation.before("5"):
        return Change(f"transformers {situation.transformers} reads {NEW}")
    document = tree.document(FILE)
    notes = []
    for prefix, section in sections(document):
        if NEW in section:
            old = _spelled_as_4(section[NEW], f"{prefix}{NEW}")
            if clash := [key for key, value in old.items() if section.get(key, value) != value]:
                raise unfit(PATCH.name, FILE, f"{prefix}{clash[0]} is there with another value")
            del section[NEW]
            section.update(old)
            notes.append(f"{prefix}{NEW} → {', '.join(prefix + key for key in old)}")
    if not notes:
        return Change(f"{NEW} is not used")
    return Change("; ".join(notes), {FILE: tree.rewritten(FILE, document)})


def _spelled_as_4(new: Any, where: str) -> dict[str, Any]:
    if not isinstance(new, dict) or any(isinstance(value, dict) for value in new.values()):
        raise unfit(PATCH.name, FILE, f"{where} differs by layer type, which the older keys cannot say")
    scaling = dict(new)
    old = {key: scaling.pop(key) for key in ("rope_theta", "partial_rotary_factor") if key in scaling}
    kind = scaling.pop("rope_type", scaling.pop("type", "default"))
    if kind != "default":
        old["rope_scaling"] = {"rope_type": kind, **scaling}
    elif scaling:
        raise unfit(PATCH.name, FILE, f"{where}.{next(iter(scaling))} has no older spelling")
    return old


PATCH = Patch(
    name="rope-keys",
    why=Words(
        "transformers 5 saves rope_theta and rope_scaling together as rope_parameters; 4.x passes that over "
        "and turns with its own default base, so answers decay without an error.",
        "transformers 5 将 rope_theta 与 rope_scaling 合并保存为 rope_parameters；"
        "4.x 会忽略它并使用默认基数，结果变差却不报错。",
    ),
    how=Words(
        "rope_parameters is written out as rope_theta, partial_rotary_factor and rope_scaling.",
        "将 rope_parameters 展开为 rope_theta、partial_rotary_factor 与 rope_scaling。",
    ),
    symptom="config.rope_theta is 10000.0 although config.json says otherwise; text degrades with length",
    upstream=("https://github.com/huggingface/transformers/pull/39847",),
    remove_when=Words("transformers 5 is what reads the files.", "改用 transformers 5 读取文件时。"),
    options=Options,
    edit=edit,
    standing=True,
)
