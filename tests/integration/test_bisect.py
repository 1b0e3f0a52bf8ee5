"""Where two runs part: the module by its sketches, the operator by replaying it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from npukit.checks.parting import first_jump, first_wrong_operator
from tests.fixtures.in_process import InProcess
from tests.fixtures.tiny_models import CONFIGS, build_model, build_tokenizer, save

pytestmark = pytest.mark.torch
MESSAGES = [{"role": "user", "content": [{"type": "text", "text": "The capital of France is"}]}]


class Traces:
    """Traces of one model in this process."""

    def __init__(self, kind: str, scratch: Path) -> None:
        self.asked = InProcess(save(build_model(kind), build_tokenizer(), scratch / kind), scratch)
        self.request = {"messages": MESSAGES, "options": {}, "new_tokens": 3}

    def trace(self, name: str, **load: Any) -> str:
        from npukit.measures.trace import measure

        path = str(self.asked.scratch / name)
        request = {**self.request, "load": self.asked.load(**load), "path": path, "drop": True}
        measure(self.asked.context(), request)
        return path

    def errors(self, reference: str, candidate: str, floor: str) -> Any:
        from npukit.measures.parting import measure

        return measure(self.asked.context(), {"reference": reference, "candidate": candidate, "floor": floor})

    def replay(self, jump: Any, patch: Any = None, **load: Any) -> Any:
        from npukit.measures import module_inputs, replay

        path = str(self.asked.scratch / "module")
        call = {"module": jump["module"], "call": jump["call"], "path": path}
        module_inputs.measure(self.asked.context(), {**self.request, **call, "load": self.asked.load()})
        if patch is not None:
            patch()
        return replay.measure(self.asked.context(), {**call, "load": self.asked.load(**load)})


@pytest.fixture(scope="module", params=[k for k in CONFIGS if k != "deepseek_v4"])
def traces(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Traces:
    return Traces(request.param, tmp_path_factory.mktemp("traces"))


def scaled(module: Any, factor: float, when: Any = lambda: True) -> Any:
    forward = module.forward

    def wrong(self: Any, *args: Any, **kwargs: Any) -> Any:
        return forward(self, *args, **kwargs) * (factor if when() else 1.0)

    return wrong


def test_sound_runs_do_not_part(traces: Traces) -> None:
    paths = traces.trace("r"), traces.trace("c", dtype="bfloat16"), traces.trace("f", dtype="bfloat16")
    errors = traces.errors(*paths)
    assert len(errors) > 50
    assert {row["call"] for row in errors} >= {0, 1, 2, 3}, "prompt and decoding are both traced"
    assert first_jump(errors, "bfloat16") is None
    assert max(row["out"] for row in errors) > 0


def test_a_wrong_module_is_named_and_its_code_blamed(traces: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.models.llama.modeling_llama import LlamaMLP
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5MLP

    reference, floor = traces.trace("r"), traces.trace("f", dtype="bfloat16")

    def plant() -> None:
        for module in (LlamaMLP, Qwen3_5MLP):
            calls = iter(range(10**6))
            monkeypatch.setattr(module, "forward", scaled(module, 1.5, lambda calls=calls: next(calls) > 0))

    with monkeypatch.context():
        plant()
        jump = first_jump(traces.errors(reference, traces.trace("c", dtype="bfloat16"), floor), "bfloat16")
    monkeypatch.undo()
    assert jump is not None
    assert (jump["module"], jump["call"]) == ("model.layers.1.mlp", 0)

    def always() -> None:
        for module in (LlamaMLP, Qwen3_5MLP):
            monkeypatch.setattr(module, "forward", scaled(module, 1.5))

    found = traces.replay(jump, always, dtype="bfloat16")
    assert found["unavailable"] == ""
    assert found["alone"] == pytest.approx(0.5, rel=0.1)
    assert first_wrong_operator(found["operators"], "bfloat16") is None


def test_a_wrong_operator_is_named(traces: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that is right in float64 and wrong in bfloat16, as a broken kernel is."""

    @torch.library.custom_op(f"npukit_test::silu_{traces.asked.directory.name}", mutates_args=())
    def broken(x: torch.Tensor) -> torch.Tensor:
        right = torch.nn.functional.silu(x)
        return right if x.dtype != torch.bfloat16 else right * 1.25

    reference, floor = traces.trace("r"), traces.trace("f", dtype="bfloat16")
    monkeypatch.setattr("transformers.activations.SiLUActivation.forward", lambda self, x: broken(x))
    jump = first_jump(traces.errors(reference, traces.trace("c", dtype="bfloat16"), floor), "bfloat16")
    assert jump is not None
    # the first that uses it
    assert jump["module"] in ("model.layers.0.mlp.act_fn", "model.layers.0.linear_attn")
    found = traces.replay(jump, dtype="bfloat16")
    wrong = first_wrong_operator(found["operators"], "bfloat16")
    assert wrong is not None
    assert wrong["operator"].startswith("npukit_test.silu")
    assert wrong["error"] == pytest.approx(0.25, rel=0.05)


def test_a_trace_is_small_however_large_the_tensors(traces: Traces) -> None:
    from npukit.measures.sketch import WIDTH
    from npukit.measures.trace import read_trace

    rows, sketches = read_trace(Path(traces.trace("r")))
    assert sketches.shape[1] == WIDTH + 1
    assert len(sketches) < 8 * len(rows)
    assert json.dumps(rows)
