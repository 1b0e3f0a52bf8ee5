"""Every figure of a comparison equals a second computation of it, written otherwise, in float64."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

pytestmark = pytest.mark.torch
os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402

import npukit.compare  # noqa: E402
from npukit.compare import distances, first_difference, margin, representable  # noqa: E402
from npukit.metrics import METRICS  # noqa: E402

ordinary = st.floats(-1e3, 1e3, width=32)
wild = st.one_of(
    ordinary,
    st.sampled_from([0.0, -0.0, 1e-38, 3e38, -3e38, math.inf, -math.inf, math.nan]),
    st.floats(width=32),
)


def pairs(elements: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    shapes = st.tuples(st.integers(1, 7), st.integers(1, 9))
    return shapes.flatmap(
        lambda shape: st.tuples(
            *(hnp.arrays(np.float32, shape, elements=elements, fill=st.nothing()) for _ in range(2))
        )
    )


@np.errstate(all="ignore")
def again(r32: np.ndarray, c32: np.ndarray) -> dict[str, float]:
    """The figures from their definitions, without blocks and without torch."""
    r, c = r32.astype(np.float64), c32.astype(np.float64)
    d = c - r

    def ratio(above: float, below: float) -> float:
        return above / below if below else math.nan if above else 0.0

    def softmax(x: np.ndarray) -> np.ndarray:
        shifted = x - x.max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))

    p, q = softmax(r), softmax(c)
    share = np.exp(p)
    relative = np.divide(np.abs(d), np.abs(r))
    relative[d == 0] = 0
    return {
        "cosine": ratio((r * c).sum(), math.sqrt((r * r).sum()) * math.sqrt((c * c).sum())),
        "last_cosine": ratio(
            (r[-1] * c[-1]).sum(), math.sqrt((r[-1] ** 2).sum()) * math.sqrt((c[-1] ** 2).sum())
        ),
        "max_abs": np.abs(d).max(),
        "mean_abs": np.abs(d).mean(),
        "max_relative": relative.max(),
        "mean_relative": relative.mean(),
        "relative_l2": ratio(math.sqrt((d * d).sum()), math.sqrt((r * r).sum())),
        "relative_mean": ratio(np.abs(d).sum(), np.abs(r).sum()),
        "last_relative_mean": ratio(np.abs(d[-1]).sum(), np.abs(r[-1]).sum()),
        "tolerance": (np.abs(d) / (1 + np.abs(r))).max(),
        "kl": np.where(share > 0, share * (p - q), share).sum() / len(r),
    }


def same(left: float, right: float) -> bool:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)


@settings(max_examples=150, deadline=None)
@given(pairs(ordinary))
def test_ordinary_numbers(pair: tuple[np.ndarray, np.ndarray]) -> None:
    found = distances(*map(torch.from_numpy, pair))
    for name, value in again(*pair).items():
        assert same(found[name], float(value)) or (name == "kl" and value < 0), name
    assert -1 - 1e-12 <= found["cosine"] <= 1 + 1e-12  # never the 1.0001 of sums in float32
    assert found["kl"] >= 0


@settings(max_examples=250, deadline=None)
@given(pairs(wild))
def test_nan_inf_zeros_and_huge_numbers(pair: tuple[np.ndarray, np.ndarray]) -> None:
    found = distances(*map(torch.from_numpy, pair))
    expected = again(*pair)
    for name in (
        "cosine",
        "max_abs",
        "mean_abs",
        "relative_l2",
        "relative_mean",
        "tolerance",
        "max_relative",
    ):
        assert same(found[name], float(expected[name])), name
    if np.isnan(pair[1]).any():
        assert math.isnan(found["max_abs"]), "a NaN must not be hidden by a maximum"
        assert math.isnan(found["relative_l2"])


@settings(max_examples=50, deadline=None)
@given(pairs(ordinary), st.integers(1, 40))
def test_blocks_change_nothing(pair: tuple[np.ndarray, np.ndarray], block: int) -> None:
    whole = distances(*map(torch.from_numpy, pair))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(npukit.compare, "ELEMENTS_AT_ONCE", block)
        patch.setattr(npukit.compare, "ELEMENTS_NEAR", max(1, block // 3))
        parts = distances(*map(torch.from_numpy, pair))
    for name, value in whole.items():
        assert same(parts[name], value), name


@pytest.mark.parametrize("value", [0.0, 1.0, -7.5, 3e38])
def test_a_tensor_against_itself(value: float) -> None:
    constant = torch.full((3, 5), value)
    found = distances(constant, constant.clone(), torch.tensor([1, 2]))
    assert found["max_abs"] == found["relative_l2"] == found["max_relative"] == found["kl"] == 0
    assert found["cosine"] == pytest.approx(1.0 if value else 0.0)
    assert found["top1_agreement"] == found["top5_agreement"] == 1
    assert found["perplexity_reference"] == found["perplexity_candidate"] == pytest.approx(5)


def test_a_token_that_is_ruled_out_adds_nothing_to_the_divergence() -> None:
    reference = torch.tensor([[0.0, 1.0, 0.0, -math.inf, -2000.0]])
    candidate = torch.tensor([[0.0, 1.5, 0.0, -math.inf, -math.inf]])
    expected = distances(reference[:, :3], candidate[:, :3])
    found = distances(reference, candidate)
    assert found["kl"] == pytest.approx(expected["kl"], rel=1e-12)
    assert distances(candidate.flip(1), candidate.flip(1))["kl"] == 0
    assert math.isnan(distances(reference, reference * math.nan)["kl"])
    assert distances(torch.zeros(1, 2), torch.zeros(1, 2))["mean_relative"] == 0


def test_every_figure_is_explained_and_every_explanation_is_a_figure() -> None:
    logits = torch.randn(4, 6)
    assert set(distances(logits, logits, torch.tensor([1, 2, 3]))) == {metric.name for metric in METRICS}


def test_ranks() -> None:
    reference = torch.tensor([[9.0, 8, 7, 6, 5, 0, 0, 0], [1.0, 2, 3, 4, 5, 6, 7, 8]])
    candidate = torch.tensor([[9.0, 8, 0, 6, 5, 7, 0, 0], [8.0, 2, 3, 4, 5, 6, 7, 1]])
    found = distances(reference, candidate)
    assert found["top1_agreement"] == 0.5
    assert found["top5_agreement"] == pytest.approx((5 - 1 + 5 - 1) / 10)


def test_the_tolerance_is_the_least_that_passes() -> None:
    reference, candidate = torch.randn(5, 50), torch.randn(5, 50)
    t = distances(reference, candidate)["tolerance"]
    r, c = reference.double(), candidate.double()
    assert ((c - r).abs() <= t * (1 + 1e-12) * (1 + r.abs())).all()
    assert not ((c - r).abs() <= t * (1 - 1e-6) * (1 + r.abs())).all()


def test_perplexity_is_of_the_tokens_that_follow() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [1.0, 1.0, 1.0]]))
    found = distances(logits, logits, torch.tensor([1, 0]))
    assert found["perplexity_reference"] == pytest.approx(math.exp((math.log(4) + math.log(8)) / 2))


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        distances(torch.zeros(2, 3), torch.zeros(3, 2))


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_first_difference(left: list[int], right: list[int]) -> None:
    found = first_difference(torch.tensor(left), torch.tensor(right))
    if found is None:
        assert left == right
    else:
        assert left[:found] == right[:found]
        assert left[found : found + 1] != right[found : found + 1]


def test_margin_and_representable() -> None:
    assert margin(torch.tensor([1.0, 4.0, 3.5]), 1, 2) == 0.5
    values = torch.randn(1000)
    assert representable(values.bfloat16().float(), torch.bfloat16) == 1
    assert representable(values, torch.bfloat16) < 0.1


TWICE: list[Callable[[torch.Tensor], torch.Tensor]] = [lambda x: x.double(), lambda x: x]


@pytest.mark.parametrize("cast", TWICE)
def test_float64_recordings_are_compared_as_they_are(cast: Callable[[torch.Tensor], torch.Tensor]) -> None:
    reference = cast(torch.ones(2, 4))
    assert distances(reference, torch.ones(2, 4) + 1e-6)["max_abs"] == pytest.approx(1e-6, rel=0.1)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_position_without_numbers_agrees_with_nothing(value: float) -> None:
    reference = torch.randn(4, 20)
    candidate = reference.clone()
    candidate[2, 7] = value
    found = distances(reference, candidate)
    assert found["top1_agreement"] == found["top5_agreement"] == 0.75
    assert distances(candidate, candidate)["top1_agreement"] == 0.75
