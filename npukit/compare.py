"""Distances between two recordings of the same prompt. Pure; every sum is in float64."""

from __future__ import annotations

import torch

ROWS_AT_ONCE = 16  # keeps the float64 copies of a 248k vocabulary near 64 MB


def distances(reference: torch.Tensor, candidate: torch.Tensor) -> dict[str, float]:
    """How far ``candidate`` is from ``reference``, both (positions, vocabulary).

    cosine           of all positions flattened
    last_cosine      of the last position
    max_abs          largest absolute difference
    mean_abs         mean absolute difference
    relative_l2      ‖candidate − reference‖ / ‖reference‖
    relative_mean    mean absolute difference / mean absolute reference
    top1_agreement   share of positions whose largest logit is the same token
    """
    if reference.shape != candidate.shape:
        raise ValueError(f"shapes differ: {tuple(reference.shape)} and {tuple(candidate.shape)}")
    dot = ref_sq = cand_sq = diff_sq = diff_abs = ref_abs = max_abs = 0.0
    same = 0
    for start in range(0, reference.shape[0], ROWS_AT_ONCE):
        ref = reference[start : start + ROWS_AT_ONCE].double()
        cand = candidate[start : start + ROWS_AT_ONCE].double()
        diff = cand - ref
        dot += (ref * cand).sum().item()
        ref_sq += ref.square().sum().item()
        cand_sq += cand.square().sum().item()
        diff_sq += diff.square().sum().item()
        diff_abs += diff.abs().sum().item()
        ref_abs += ref.abs().sum().item()
        max_abs = _larger(max_abs, diff.abs().max().item())
        same += int((ref.argmax(-1) == cand.argmax(-1)).sum())
    return {
        "cosine": _ratio(dot, (ref_sq * cand_sq) ** 0.5),
        "last_cosine": _cosine(reference[-1].double(), candidate[-1].double()),
        "max_abs": max_abs,
        "mean_abs": diff_abs / reference.numel(),
        "relative_l2": _ratio(diff_sq**0.5, ref_sq**0.5),
        "relative_mean": _ratio(diff_abs, ref_abs),
        "top1_agreement": same / reference.shape[0],
    }


def first_difference(reference: torch.Tensor, candidate: torch.Tensor) -> int | None:
    """The position of the first token that differs, or None when the answers are the same."""
    for index, (ref, cand) in enumerate(zip(reference.tolist(), candidate.tolist(), strict=False)):
        if ref != cand:
            return index
    return None if len(reference) == len(candidate) else min(len(reference), len(candidate))


def _cosine(left: torch.Tensor, right: torch.Tensor) -> float:
    return _ratio((left @ right).item(), (left.square().sum() * right.square().sum()).sqrt().item())


def _ratio(above: float, below: float) -> float:
    return above / below if below else float("nan") if above else 0.0


def _larger(left: float, right: float) -> float:
    return right if right != right else max(left, right)  # NaN wins: it must not be hidden
