"""One decoded token of a whole model, as a plan made once: no masks, no positions, no module calls."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from npukit.accelerations import Refused
from npukit.accelerations.attention_step import AttentionStep
from npukit.accelerations.delta_step import DeltaStep
from npukit.accelerations.feed_forward import FeedForward
from npukit.accelerations.norms import recognise_norm
from npukit.accelerations.operators import Operators
from npukit.accelerations.products import plain
from npukit.accelerations.rotation import Rotation

BACKBONE = ("embed_tokens", "layers", "norm", "rotary_emb")
LAYER = {"input_layernorm", "post_attention_layernorm", "mlp"}
MIXERS = ("self_attn", "linear_attn")


class _Layer:
    def __init__(self, module: Any, operators: Operators, hidden: int) -> None:
        names = {name for name, _ in module.named_children()}
        mixers = [name for name in MIXERS if name in names]
        if names - set(MIXERS) != LAYER or len(mixers) != 1:
            raise Refused(f"{type(module).__name__} is made of {', '.join(sorted(names))}")
        self.before = recognise_norm(module.input_layernorm, operators, hidden)
        mixer = getattr(module, mixers[0])
        kind = AttentionStep if mixers[0] == "self_attn" else DeltaStep
        self.mixer = kind(mixer, operators)
        self.between = recognise_norm(module.post_attention_layernorm, operators, hidden)
        self.feed_forward = FeedForward(module.mlp, operators)


class Step:
    """``begin`` with the cache of a prompt, then call with one token after the other."""

    def __init__(self, model: Any, operators: Operators) -> None:
        head, self._backbone = model.get_output_embeddings(), backbone(model)
        if head is None:
            raise Refused("it has no output embedding")
        self.head = plain(head)
        self._embedding = self._backbone.embed_tokens.weight.detach()
        hidden = self._embedding.shape[1]
        self._layers = [_Layer(layer, operators, hidden) for layer in self._backbone.layers]
        self._norm = recognise_norm(self._backbone.norm, operators, hidden)
        sizes = {layer.mixer.head_dim for layer in self._layers if isinstance(layer.mixer, AttentionStep)}
        if len(sizes) != 1:
            raise Refused("its attention layers differ in the size of their heads")
        self._rotation = Rotation(
            self._backbone.rotary_emb, sizes.pop(), self.head.weight.dtype, self.head.weight.device
        )
        self._cached = self._shift = 0

    def begin(self, cache: Any, prompt: int, length: int, shift: int = 0) -> None:
        """``prompt`` tokens are in transformers' ``cache``, ``length`` will be at most; a token's position is
        its number in the cache plus ``shift``."""
        for layer, kept in zip(self._layers, cache.layers, strict=True):
            layer.mixer.begin(kept, length)
        self._rotation.begin()
        self._cached, self._shift = prompt, shift

    def __call__(self, token: torch.Tensor) -> torch.Tensor:
        """token (1,) on the device gives the logits (1, vocabulary) of the next."""
        x = F.embedding(token, self._embedding)
        cached, position = self._cached, self._cached + self._shift
        for layer in self._layers:
            normed = layer.before(x)
            if isinstance(layer.mixer, AttentionStep):
                mixed = layer.mixer(normed, position, cached, self._rotation)
            else:
                mixed = layer.mixer(normed)
            x = layer.mixer.output.added_to(x, mixed)
            x = layer.feed_forward.output.added_to(x, layer.feed_forward(layer.between(x)))
        self._cached += 1
        return self.head(self._norm(x))


def backbone(model: Any) -> Any:
    """The module that holds embedding, layers, last norm and rotary positions of the text. Raises Refused."""
    found = [m for m in model.modules() if all(hasattr(m, name) for name in BACKBONE)]
    if len(found) != 1:
        raise Refused(f"{len(found)} of its modules have {', '.join(BACKBONE)}")
    return found[0]
