"""Full attention of one new token over a cache whose memory is set aside once."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from npukit.accelerations import Refused
from npukit.accelerations.norms import recognise_norm
from npukit.accelerations.operators import Norm, Operators
from npukit.accelerations.products import Product, merge, plain
from npukit.accelerations.rotation import Rotation

NEEDED = ("q_proj", "k_proj", "v_proj", "o_proj", "head_dim", "scaling")
PARTS = {"q_proj", "k_proj", "v_proj", "o_proj", "q_norm", "k_norm", "rotary_emb"}


class AttentionStep:
    """Llama's attention, with the norms of Qwen3's queries and keys and the output gate of Qwen3.5's where
    they are there. Queries, keys and values are one product."""

    def __init__(self, module: Any, operators: Operators) -> None:
        extra = {name for name, _ in module.named_children()} - PARTS
        if extra:
            raise Refused(f"{type(module).__name__} has {', '.join(sorted(extra))}")
        lacking = [name for name in NEEDED if not hasattr(module, name)]
        if lacking:
            raise Refused(f"{type(module).__name__} lacks {', '.join(lacking)}")
        if getattr(module, "sliding_window", None):
            raise Refused("its attention slides over a window")
        self.head_dim: int = module.head_dim
        self.output: Product = plain(module.o_proj)
        self._heads = module.o_proj.in_features // self.head_dim
        self._kv_heads = module.k_proj.out_features // self.head_dim
        self._gated = module.q_proj.out_features == 2 * module.o_proj.in_features
        self._inputs = merge([module.q_proj, module.k_proj, module.v_proj])
        self._split = (module.q_proj.out_features, module.k_proj.out_features, module.v_proj.out_features)
        self._norms: tuple[Norm, Norm] | None = None
        if getattr(module, "q_norm", None) is not None:
            self._norms = (
                recognise_norm(module.q_norm, operators, self.head_dim),
                recognise_norm(module.k_norm, operators, self.head_dim),
            )
        self._scale: float = module.scaling
        self._keys = self._values = torch.empty(0)

    def begin(self, layer: Any, length: int) -> None:
        """Take over the prompt's (1, kv_heads, positions, head_dim) keys and values; make room for more."""
        prompt = layer.keys.shape[2]
        shape = (length, self._kv_heads, self.head_dim)
        self._keys, self._values = (torch.empty(shape, dtype=t.dtype, device=t.device) for t in _pair(layer))
        for kept, seen in zip((self._keys, self._values), _pair(layer), strict=True):
            kept[:prompt] = seen[0].transpose(0, 1)

    def __call__(self, x: torch.Tensor, position: int, cached: int, rotation: Rotation) -> torch.Tensor:
        """x (1, hidden) gives (1, heads * head_dim); ``cached`` tokens are in the cache."""
        query, key, value = (part.view(-1, self.head_dim) for part in self._inputs(x).split(self._split, -1))
        gate = query[1::2] if self._gated else None
        if self._norms is not None:
            # gates lie between the queries; to norm them too, unused, is cheaper than to copy the queries out
            query, key = self._norms[0](query), self._norms[1](key)
        if self._gated:
            query = query[::2]
        turn = rotation.at(position)
        torch.mm(key, turn, out=self._keys[cached])
        self._values[cached] = value
        # the heads that share a key are laid along the query's positions: every one sees the whole cache
        grouped = torch.mm(query, turn).view(1, self._kv_heads, -1, self.head_dim)
        keys, values = (t[: cached + 1].transpose(0, 1)[None] for t in (self._keys, self._values))
        mixed = F.scaled_dot_product_attention(grouped, keys, values, scale=self._scale)
        mixed = mixed.reshape(-1, self.head_dim)
        return (mixed if gate is None else mixed * torch.sigmoid(gate)).view(1, -1)


def _pair(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return layer.keys, layer.values
