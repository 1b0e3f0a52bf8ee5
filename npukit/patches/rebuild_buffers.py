"""Tables that a class computes when it is made, and that transformers 5 loses while it loads."""

from __future__ import annotations

from dataclasses import dataclass

from npukit.patches.base import Change, Patch, Situation, Words
from npukit.patches.tree import Tree


@dataclass(frozen=True)
class Options:
    pass


def edit(tree: Tree, options: Options, situation: Situation) -> Change:
    if not situation.own_code:
        return Change("transformers' own classes refill their tables")
    if situation.before("5"):
        return Change(f"transformers {situation.transformers} makes a model in memory, tables and all")
    return Change("tables that no checkpoint holds are computed anew", worker=({"do": "buffers"},))


PATCH = Patch(
    name="rebuild-buffers",
    why=Words(
        "transformers 5 makes a model without memory and then fills in the checkpoint. A table that the "
        "class computed when it was made (rotary angles, say) and that no checkpoint holds is left unset, "
        "unless the class's own _init_weights refills it; code written for 4.x does not. No tensor is "
        "reported missing.",
        "transformers 5 先在不分配内存的情况下创建模型，再填入权重。类在创建时计算、且不保存在权重文件中的表"
        "（如旋转角度）会保持未初始化，除非其 _init_weights 重新填充；为 4.x 编写的代码不会这样做，"
        "且不会报告任何缺失张量。",
    ),
    how=Words(
        "npukit's worker makes the class once more in memory and copies these tables from it.",
        "npukit 的工作进程在内存中再次创建该类，并从中复制这些表。",
    ),
    symptom="NaN, or other text in every process, although 0 tensors are missing, unexpected or mismatched",
    upstream=(),
    remove_when=Words("The model's own code refills its tables.", "模型自带代码会重新填充这些表时。"),
    options=Options,
    edit=edit,
    standing=True,
)
