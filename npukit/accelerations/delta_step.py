"""The gated delta rule of one new token (Qwen3.5's linear attention, and so MiniCPM-V-4.6's).

transformers' step takes about 55 operators a layer; in half precision its depthwise convolution of a single
position alone is most of the time. Here the layer is about 14.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from npukit.accelerations import Refused
from npukit.accelerations.delta_rule import Heads
from npukit.accelerations.operators import Operators
from npukit.accelerations.products import Product, merge, plain

PARTS = {"conv1d", "norm", "out_proj", "in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a"}
PARTS_OPTIONAL = {"act"}
ROWS = 32  # tokens between two tidyings of the convolution's memory


class DeltaStep:
    """One product makes queries, keys, values, output gate z, and the step's b and a.

    The convolution is kept in its transposed form: a new input is added, times each tap, to the rows of the
    outputs it will take part in, so the row of this token is then complete. All of the product's channels go
    through it (the others have one tap), which makes them float32, adds their bias, negates a, and leaves one
    SiLU for queries, keys, values and z.
    """

    def __init__(self, module: Any, operators: Operators) -> None:
        names = {name for name, _ in module.named_children()} - PARTS_OPTIONAL
        if names != PARTS:
            raise Refused(f"{type(module).__name__} differs in {', '.join(sorted(names ^ PARTS))}")
        if module.activation not in ("silu", "swish"):
            raise Refused(f"its activation is {module.activation}")
        heads = Heads(module.num_k_heads, module.num_v_heads, module.head_k_dim, module.head_v_dim)
        self.output: Product = plain(module.out_proj)
        self._inputs = merge([module.in_proj_qkv, module.in_proj_z, module.in_proj_b, module.in_proj_a])
        self._mixed = module.in_proj_qkv.out_features
        self._taps, self._rest = self._filter(module)
        self._rule = operators.delta_rule(heads, module.A_log, self._inputs.weight.dtype)
        weight = module.norm.weight.detach().to(self._rule.dtype)
        self._norm = operators.norm(weight, float(module.norm.variance_epsilon))
        self._rows, self._row = torch.empty(0), 0

    def _filter(self, module: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Taps (kernel, channels), newest input first, and what every output starts from (channels)."""
        weight = module.conv1d.weight.detach().float().squeeze(1).flip(-1).T
        channels = len(self._inputs.weight)
        taps = weight.new_zeros(len(weight), channels)
        taps[:, : self._mixed] = weight
        taps[0, self._mixed :] = 1
        rest = weight.new_zeros(channels)
        if module.conv1d.bias is not None:
            rest[: self._mixed] = module.conv1d.bias.detach().float()
        taps[0, -module.num_v_heads :] = -1
        rest[-module.num_v_heads :] = -module.dt_bias.detach().float()
        return taps, rest

    def begin(self, layer: Any, length: int) -> None:
        """Take over the prompt's state: the last inputs of the convolution, and the recurrent state."""
        self._rule.begin(_first(layer.recurrent_states)[0])
        past = _first(layer.conv_states)[0]
        kernel = len(self._taps)
        self._rows = self._rest.repeat(ROWS + kernel - 1, 1)
        self._row = 0
        for i in range(1 - kernel, 0):
            self._push(F.pad(past[:, i], (0, len(self._rest) - self._mixed)))

    def _push(self, x: torch.Tensor) -> torch.Tensor:
        """Add the inputs of one token, (channels); give the finished outputs of its row."""
        kernel = len(self._taps)
        if self._row == ROWS:
            open_rows = self._rows[ROWS:].clone()
            self._rows[:] = self._rest
            self._rows[: kernel - 1] = open_rows
            self._row = 0
        row = self._row
        self._rows[row : row + kernel].addcmul_(self._taps, x)
        self._row += 1
        return self._rows[row]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x (1, hidden) gives (1, value_heads * value_dim)."""
        read, z = self._rule(self._push(self._inputs(x)[0]))
        return self._norm(read).mul_(z).reshape(1, -1).to(x.dtype)


def _first(states: Any) -> torch.Tensor:
    """transformers keeps one state, or a table of them by number, depending on its version."""
    return states if isinstance(states, torch.Tensor) else states[0]
