"""A sketch estimates the distance of two tensors from a thousand numbers each."""

from __future__ import annotations

import pytest
import torch

from npukit.measures.sketch import PERIOD, WIDTH, relative_distance, sketch

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("size", [1, WIDTH - 1, WIDTH, 5 * WIDTH + 3, PERIOD + 17, 2 * PERIOD])
@pytest.mark.parametrize("error", [1e-6, 1e-2])
def test_the_estimate(size: int, error: float) -> None:
    torch.manual_seed(size)
    reference = torch.randn(size, dtype=torch.float64)
    candidate = reference + error * torch.randn(size, dtype=torch.float64)
    exact = ((candidate - reference).norm() / reference.norm()).item()
    # five standard deviations of the estimate's square
    assert relative_distance(sketch(reference), sketch(candidate)) == pytest.approx(exact, rel=0.12)


def test_an_error_in_one_element_is_seen() -> None:
    reference = torch.ones(100_000)
    candidate = reference.clone()
    candidate[77_777] += 1.0
    assert relative_distance(sketch(reference), sketch(candidate)) == pytest.approx(100_000**-0.5)


def test_equal_errors_a_period_apart_do_not_add_up() -> None:
    reference = torch.randn(2 * PERIOD)
    candidate = reference.clone()
    for start in (0, PERIOD):
        candidate[start : start + 4096] += 0.1
    exact = ((candidate - reference).norm() / reference.norm()).item()
    assert relative_distance(sketch(reference), sketch(candidate)) == pytest.approx(exact, rel=0.2)


def test_nan_nothing_and_whole_numbers() -> None:
    zeros = torch.zeros(4)
    assert relative_distance(sketch(zeros), sketch(zeros)) == 0
    assert relative_distance(sketch(zeros), sketch(torch.ones(4))) == float("inf")
    assert relative_distance(sketch(torch.ones(4)), sketch(torch.tensor([1.0, float("nan"), 1, 1]))) != 0
    assert relative_distance(sketch(torch.arange(9)), sketch(torch.arange(9))) == 0
    assert sketch(torch.tensor(3.0))[WIDTH] == 3
