"""torch_npu's own fused operators in the decode step."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from npukit.accelerations import Applied, Refused
from npukit.accelerations.delta_rule import DeltaRule, Heads, unit_norm
from npukit.accelerations.operators import Norm, Operators
from npukit.devices.base import Device

WHY = "a norm, a gated activation and a step of the gated delta rule are one operator each on the NPU"
GAIN = "MiniCPM-V-4.6 in bf16: about 400 dispatches a token, where torch's own operators take 1,589"

# where their documentation places them: Atlas A2 and A3
CARDS = ("Ascend910B", "Ascend910_93")
MAX_HEADS = MAX_HEAD_DIM = 256  # of npu_recurrent_gated_delta_rule
# relative L2 distance from torch's own operators
LIMITS = {torch.float32: 1e-4}
HALF_LIMIT = 0.02


def apply(model: Any, device: Device, in_force: Mapping[str, Any]) -> Applied:
    """The operators that are there, meant for this card and dtype, and right by value on a small case."""
    if device.name.kind != "npu":
        raise Refused("only torch_npu has them")
    chip = str(device.info().get("name", ""))
    if not chip.startswith(CARDS):
        raise Refused(f"they are documented for {' and '.join(CARDS)}, not for {chip}")
    torch_npu = importlib.import_module("torch_npu")
    dtype = model.dtype
    refusals: dict[str, str] = {}
    for name, check in CHECKS.items():
        try:
            if not hasattr(torch_npu, name):
                raise Refused(f"torch_npu {torch_npu.__version__} lacks it")
            _hold(name, check(torch_npu, dtype, device.torch_device), dtype)
        except Refused as refused:
            refusals[name] = str(refused)
        except RuntimeError as error:  # what torch_npu raises where CANN lacks the kernel
            refusals[name] = str(error).strip().split("\n")[0]
    usable = [name for name in CHECKS if name not in refusals]
    said = [*usable, *(f"not {name}: {why}" for name, why in refusals.items())]
    if not usable:
        raise Refused("; ".join(said))
    return Applied("; ".join(said), NpuOperators(torch_npu, usable))


def _hold(name: str, distance: float, dtype: torch.dtype) -> None:
    if not distance <= LIMITS.get(dtype, HALF_LIMIT):
        raise Refused(f"on a small case it is {distance:.2g} from the right values (relative L2)")


class NpuOperators(Operators):
    """``usable`` names the fused ones; the others are torch's."""

    def __init__(self, torch_npu: Any, usable: list[str]) -> None:
        self._npu, self.usable = torch_npu, frozenset(usable)

    def norm(self, weight: torch.Tensor, eps: float, *, zero_centred: bool = False) -> Norm:
        name = "npu_gemma_rms_norm" if zero_centred else "npu_rms_norm"
        if name not in self.usable:
            return super().norm(weight, eps, zero_centred=zero_centred)
        fused = getattr(self._npu, name)

        def norm(x: torch.Tensor) -> torch.Tensor:
            return fused(x.contiguous(), weight, eps)[0]

        return norm

    def gated(self, both: torch.Tensor) -> torch.Tensor:
        return self._npu.npu_swiglu(both) if "npu_swiglu" in self.usable else super().gated(both)

    def delta_rule(self, heads: Heads, log_decay: torch.Tensor, dtype: torch.dtype) -> DeltaRule:
        small = max(heads.key_heads, heads.value_heads) <= MAX_HEADS
        small = small and max(heads.key_dim, heads.value_dim) <= MAX_HEAD_DIM
        if dtype == torch.bfloat16 and small and "npu_recurrent_gated_delta_rule" in self.usable:
            return FusedDeltaRule(heads, log_decay, self.norm, self._npu.npu_recurrent_gated_delta_rule)
        return super().delta_rule(heads, log_decay, dtype)


class FusedDeltaRule(DeltaRule):
    """The recurrence as one operator. Its state is bfloat16, where the original's is float32: accuracy tells
    what that costs over a long answer."""

    dtype = torch.bfloat16

    def __init__(
        self, heads: Heads, log_decay: torch.Tensor, norm: Callable[..., Any], fused: Callable[..., Any]
    ) -> None:
        super().__init__(heads, log_decay, norm)
        self._fused, self._power = fused, self._power.view(1, -1)
        self._unit = unit_norm(heads, norm, self._power.to(self.dtype))
        self._one = torch.ones(1, dtype=torch.int32, device=log_decay.device)
        self._block = torch.zeros(1, dtype=torch.int32, device=log_decay.device)

    def begin(self, state: torch.Tensor) -> None:
        self._state = state.transpose(1, 2).to(self.dtype).contiguous()[None]

    def __call__(self, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        heads = self._heads
        half, gates = row.to(self.dtype), 2 * heads.value_heads
        active = F.silu(half[:-gates])
        query, key = self._unit(active[: 2 * heads.keys].view(2, heads.key_heads, heads.key_dim)).unbind()
        value, z = active[2 * heads.keys :].view(2, heads.value_heads, heads.value_dim).unbind()
        read = self._fused(
            query[None],
            key[None],
            value[None],
            self._state,
            beta=torch.sigmoid(half[None, -gates : -heads.value_heads]),
            scale=heads.key_dim**-0.5,
            actual_seq_lengths=self._one,
            ssm_state_indices=self._block,
            g=F.logsigmoid(row[None, -heads.value_heads :]) * self._power,
        )
        return read.view(heads.value_heads, 1, heads.value_dim), z[:, None]


# --- small cases by value: the relative L2 distance from torch's own


def _wave(*shape: int, dtype: torch.dtype, device: torch.device, phase: float = 0.0) -> torch.Tensor:
    count = int(torch.Size(shape).numel())
    return torch.arange(count, dtype=torch.float32).mul(0.7).add(phase).sin().view(shape).to(device, dtype)


def _distance(seen: torch.Tensor, expected: torch.Tensor) -> float:
    seen, expected = seen.float().cpu(), expected.float().cpu()
    return float((seen - expected).norm() / expected.norm())


def _check_norm(torch_npu: Any, dtype: torch.dtype, device: torch.device, *, zero_centred: bool) -> float:
    x, weight = (_wave(*shape, dtype=dtype, device=device) for shape in ((3, 64), (64,)))
    name = "npu_gemma_rms_norm" if zero_centred else "npu_rms_norm"
    seen = NpuOperators(torch_npu, [name]).norm(weight, 1e-6, zero_centred=zero_centred)(x)
    return _distance(seen, Operators().norm(weight.cpu(), 1e-6, zero_centred=zero_centred)(x.cpu()))


def _check_gated(torch_npu: Any, dtype: torch.dtype, device: torch.device) -> float:
    both = _wave(2, 64, dtype=dtype, device=device)
    return _distance(torch_npu.npu_swiglu(both), Operators().gated(both.cpu()))


def _check_delta_rule(torch_npu: Any, dtype: torch.dtype, device: torch.device) -> float:
    if dtype != torch.bfloat16:
        raise Refused(f"it computes in bfloat16 alone, the model is in {str(dtype).removeprefix('torch.')}")
    heads, cpu = Heads(2, 4, 128, 128), torch.device("cpu")
    shapes = ((2 * (heads.keys + heads.values + heads.value_heads),), (4, 128, 128), (4,))
    row, state, log_decay = (_wave(*shape, dtype=torch.float32, device=cpu, phase=1.0) for shape in shapes)
    fused = NpuOperators(torch_npu, ["npu_recurrent_gated_delta_rule"])
    read = []
    for operators, place in ((fused, device), (Operators(), cpu)):
        rule = operators.delta_rule(heads, log_decay.to(place), dtype)
        rule.begin(state.to(place))
        read.append(torch.stack([rule(row.to(place))[0] for _ in range(3)]))
    return _distance(read[0], read[1])


CHECKS: dict[str, Callable[[Any, torch.dtype, torch.device], float]] = {
    "npu_rms_norm": lambda *case: _check_norm(*case, zero_centred=False),
    "npu_gemma_rms_norm": lambda *case: _check_norm(*case, zero_centred=True),
    "npu_swiglu": _check_gated,
    "npu_recurrent_gated_delta_rule": _check_delta_rule,
}
