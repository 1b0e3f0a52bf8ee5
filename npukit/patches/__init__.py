"""Reversible edits of a copied model directory. One file per patch; each says why, how, and when it may go.

A recipe names them as data::

    [runtime]
    patches = [
      { name = "config-keys", drop = ["index_topk"] },
      { name = "config-derive", set = { kv_lora_rank = "head_dim - qk_rope_head_dim" } },
    ]

Standing patches need no naming: they look at every model, and act only where a file carries what an older
transformers cannot read.
"""

from npukit.patches.base import Change, Patch, Situation, Words
from npukit.patches.catalogue import PATCHES, Chosen, choose, faults

__all__ = ["PATCHES", "Change", "Chosen", "Patch", "Situation", "Words", "choose", "faults"]
