"""Conditions in lists: one table, one document, nothing measured twice; two results compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import MODEL, Npukit

FEW = ("bench", MODEL, "--device", "cpu", "--rounds", 3, "--warmup", 0, "--new-tokens", 2)


@pytest.fixture(autouse=True)
def home(home_after_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUKIT_HOME", str(home_after_run))


def test_a_sweep_and_a_comparison(npukit: Npukit) -> None:
    first = npukit(*FEW, "--batch", 2, "--prompt-tokens", 40, "--json")
    assert first.status == 0, first.err
    rows = first.document["measured"]["rounds"]
    assert all(row["prompt_tokens"] == 40 and len(row["token_ms"]) == 2 for row in rows)

    swept = npukit(*FEW, "--batch", "2", "--prompt-tokens", 40, "--downsample", "16x,4x", "--json")
    assert swept.status == 0, swept.err
    cases = swept.document["cases"]
    assert [case["conditions"]["generation"] for case in cases] == [
        {"downsample_mode": "16x"},
        {"downsample_mode": "4x"},
    ]
    assert [case["bench"]["reused"] for case in cases] == [True, False]  # 16x is what the recipe says
    assert swept.err.count("starting torch") == 1
    assert all(case["host_rss_bytes"] > 0 and case["tokens_per_s"] > 0 for case in cases)

    table = npukit(*FEW, "--batch", "2", "--prompt-tokens", 40, "--downsample", "4x,16x")
    assert "starting torch" not in table.err
    assert "4x" in table.out
    assert "not measured" in table.out

    keys = [case["bench"]["key"][:12] for case in cases]
    refused = npukit("bench", "--compare", *keys, "--json")
    assert refused.document["error"]["code"] == "bench.conditions-differ"
    assert "4x" in refused.document["error"]["what"]
    compared = npukit("bench", "--compare", *keys, "--despite-conditions", "--json").document
    assert compared["differences"]
    assert compared["ratios"]["decode"]["pairs"] == 3
    same = npukit("bench", "--compare", cases[0]["bench"]["path"], keys[0], "--json").document
    assert same["ratios"]["end to end"]["ratio"] == 1
    assert same["ratios"]["end to end"]["verdict"] == "no difference seen"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("bench", MODEL, "--dtype", "float32,float31"), "bench.wrong-list"),
        (("bench", "--compare", "nothing", "here"), "bench.no-result"),
    ],
)
def test_refusals(npukit: Npukit, arguments: tuple[str, ...], code: str) -> None:
    said = npukit(*arguments, "--json")
    assert said.status == 2
    assert said.document["error"]["code"] == code
