"""The accelerations over the real torch_npu, on the emulated CANN."""

from __future__ import annotations

import json

import pytest

from tests.fixtures.torch_npu_wheel import usable
from tests.integration.test_emulator import Python, library, python  # noqa: F401

pytestmark = [
    pytest.mark.skipif(not usable(), reason="the emulator needs torch_npu and a C++ compiler"),
    pytest.mark.usefixtures("torch_npu"),
]


def test_fused_operators_serve_and_take_a_fifth_of_the_dispatches(python: Python) -> None:  # noqa: F811
    ran = python("-m", "tests.integration.emulated_decoding")
    assert ran.returncode == 0, ran.stderr
    exact, half = (json.loads(line) for line in ran.stdout.splitlines())
    norms = "npu_rms_norm; npu_gemma_rms_norm; npu_swiglu; "
    assert exact["outcomes"]["npu-operators"].startswith(norms + "not npu_recurrent_gated_delta_rule: ")
    assert half["outcomes"]["npu-operators"] == norms + "npu_recurrent_gated_delta_rule"
    assert exact["same"]
    # of a token; three of them are the count's own: two looks at a number on the host, and a zero
    assert half["own"] - 3 <= 401 < exact["own"] <= 440
    assert min(exact["plain"], half["plain"]) > 1500
