"""torch_npu's fused operators: which are chosen, with what reason, and that the step stays equal with them.

A stand-in for torch_npu computes what its documentation says, on the CPU.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from npukit.accelerations import Applied, Refused, accelerate
from npukit.accelerations.delta_rule import Heads
from npukit.accelerations.npu_operators import CHECKS, FusedDeltaRule, NpuOperators, apply
from npukit.accelerations.operators import Operators
from npukit.devices.name import DeviceName
from tests.fixtures.decoder_models import Listener, build, prompt

pytestmark = pytest.mark.torch


def rms_norm(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    assert x.is_contiguous()
    assert x.dtype == gamma.dtype
    rstd = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + epsilon)
    return (x.float() * rstd * gamma.float()).to(x.dtype), rstd


def gemma_rms_norm(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    y, rstd = rms_norm(x.float(), 1 + gamma.float(), epsilon)
    return y.to(x.dtype), rstd


def swiglu(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.float().chunk(2, -1)
    return (torch.nn.functional.silu(gate) * up).to(x.dtype)


def recurrent_gated_delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    state: torch.Tensor,
    *,
    beta: torch.Tensor,
    scale: float,
    actual_seq_lengths: torch.Tensor,
    ssm_state_indices: torch.Tensor,
    g: torch.Tensor,
) -> torch.Tensor:
    """One sequence; the state (blocks, value heads, value_dim, key_dim) is updated in place."""
    kinds = {t.dtype for t in (query, key, value, state, beta)}
    assert kinds == {torch.bfloat16}
    assert g.dtype == torch.float32
    assert actual_seq_lengths.dtype == ssm_state_indices.dtype == torch.int32
    shared = value.shape[1] // key.shape[1]
    results = []
    for t in range(int(actual_seq_lengths[0])):
        block = int(ssm_state_indices[t])
        q, k = (part[t].float().repeat_interleave(shared, 0) for part in (query, key))
        s = state[block].float() * g[t].exp()[:, None, None]
        delta = (value[t].float() - torch.einsum("hvk,hk->hv", s, k)) * beta[t].float()[:, None]
        s = s + torch.einsum("hv,hk->hvk", delta, k)
        state[block] = s.to(state.dtype)
        results.append(torch.einsum("hvk,hk->hv", s, q * scale))
    return torch.stack(results).to(value.dtype)


def stand_in(**changes: Any) -> SimpleNamespace:
    parts = {
        "__version__": "2.9.0",
        "npu_rms_norm": rms_norm,
        "npu_gemma_rms_norm": gemma_rms_norm,
        "npu_swiglu": swiglu,
        "npu_recurrent_gated_delta_rule": recurrent_gated_delta_rule,
    }
    kept = {name: part for name, part in {**parts, **changes}.items() if part is not None}
    return SimpleNamespace(**kept)


class Card:
    """A device that says it is an NPU and computes on the CPU."""

    name = DeviceName("npu", 0)
    torch_device = torch.device("cpu")

    def __init__(self, chip: str = "Ascend910B3") -> None:
        self._chip = chip

    def info(self) -> dict[str, Any]:
        return {"name": self._chip}


def chosen(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, card: Card | None = None, **changes: Any
) -> Applied:
    monkeypatch.setitem(sys.modules, "torch_npu", stand_in(**changes))  # type: ignore[arg-type]
    card_here: Any = card or Card()
    return apply(SimpleNamespace(dtype=dtype), card_here, {})


def test_all_of_them_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(monkeypatch, torch.bfloat16).reason == "; ".join(CHECKS)


def test_the_delta_rule_needs_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = chosen(monkeypatch, torch.float32).reason
    assert reason.startswith("npu_rms_norm; npu_gemma_rms_norm; npu_swiglu; not npu_recurrent")
    assert reason.endswith("it computes in bfloat16 alone, the model is in float32")


@pytest.mark.parametrize("chip", ["Ascend310P3", "Ascend910A", ""])
def test_other_cards_keep_torchs_own(chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match=r"documented for Ascend910B and Ascend910_93, not for"):
        chosen(monkeypatch, torch.bfloat16, Card(chip))


def test_a_cpu_has_none() -> None:
    from npukit.devices.base import open_device

    with pytest.raises(Refused, match="only torch_npu has them"):
        apply(SimpleNamespace(dtype=torch.float32), open_device(DeviceName("cpu")), {})


def lacks_kernel(*arguments: Any) -> Any:
    raise RuntimeError("aclnnSwiGlu or aclnnSwiGluGetWorkspaceSize not in libopapi.so\nmore lines")


@pytest.mark.parametrize(
    ("name", "instead", "reason"),
    [
        ("npu_swiglu", None, "torch_npu 2.9.0 lacks it"),
        ("npu_swiglu", lacks_kernel, "aclnnSwiGlu or aclnnSwiGluGetWorkspaceSize not in libopapi.so"),
        ("npu_swiglu", lambda x: swiglu(x) * 1.1, "on a small case it is 0.1 from the right values"),
        ("npu_swiglu", lambda x: swiglu(x) * float("nan"), "on a small case it is nan from the right values"),
        ("npu_gemma_rms_norm", rms_norm, "on a small case it is"),
    ],
)
def test_one_that_is_missing_or_wrong_is_left_out_with_its_reason(
    name: str, instead: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied = chosen(monkeypatch, torch.bfloat16, **{name: instead})
    assert f"not {name}: {reason}" in applied.reason
    assert applied.made.usable == frozenset(CHECKS) - {name}


def test_none_that_works_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match=r"torch_npu 2\.9\.0 lacks it"):
        chosen(monkeypatch, torch.bfloat16, **dict.fromkeys(CHECKS))


@pytest.mark.parametrize("heads", [Heads(2, 2, 16, 16), Heads(2, 4, 16, 8)], ids=str)
def test_the_fused_delta_rule_over_many_tokens(heads: Heads) -> None:
    torch.manual_seed(0)
    log_decay = torch.rand(heads.value_heads).log()
    state = torch.randn(heads.value_heads, heads.key_dim, heads.value_dim)
    operators = NpuOperators(stand_in(), list(CHECKS))
    fused = operators.delta_rule(heads, log_decay, torch.bfloat16)
    exact = Operators().delta_rule(heads, log_decay, torch.bfloat16)
    assert isinstance(fused, FusedDeltaRule)
    for rule in (fused, exact):
        rule.begin(state)
    errors = []
    for _ in range(200):
        row = torch.randn(2 * (heads.keys + heads.values + heads.value_heads))
        (seen, z), (expected, expected_z) = fused(row), exact(row)
        errors.append(float((seen.float() - expected).norm() / expected.norm()))
        assert torch.allclose(z.float(), expected_z, atol=0.02)
    assert max(errors) < 0.05  # the state's own rounding does not pile up


@pytest.mark.parametrize("name", ["hybrid", "hybrid, grouped", "qwen3, with norms of heads", "llama"])
def test_the_step_with_fused_operators(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_npu", stand_in())  # type: ignore[arg-type]
    model, inputs, card = build(name), prompt(), Card()
    expected = model.generate(**inputs, do_sample=False, max_new_tokens=40)
    outcomes, decoder = accelerate(model, ["npu-operators", "decode-step"], card)  # type: ignore[arg-type]
    assert [outcome.used for outcome in outcomes] == [True, True]
    with torch.inference_mode():
        tokens = decoder.generate(inputs, max_new_tokens=40, min_new_tokens=None, watch=Listener())
    assert torch.equal(tokens, expected)
