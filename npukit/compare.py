"""Distances between two recordings of the same prompt. Pure; every sum is in float64.

What each figure means stands in :mod:`npukit.metrics`, under the same name.
"""

from __future__ import annotations

import math

import torch

ELEMENTS_AT_ONCE = 1 << 19  # of whole positions: float64 copies of 4 MB each
ELEMENTS_NEAR = 1 << 16  # where positions do not matter: copies of 512 KB, which stay in a core's cache
TOP = 5


def distances(
    reference: torch.Tensor, candidate: torch.Tensor, next_tokens: torch.Tensor | None = None
) -> dict[str, float]:
    """How far ``candidate`` is from ``reference``, both (positions, vocabulary).

    ``next_tokens`` (positions - 1,) are the tokens that did follow, for the perplexities. NaN anywhere shows
    in every figure that it touches.
    """
    if reference.shape != candidate.shape:
        raise ValueError(f"shapes differ: {tuple(reference.shape)} and {tuple(candidate.shape)}")
    positions, vocabulary = reference.shape
    sums = _Sums()
    losses = [0.0, 0.0]
    rows_at_once = max(1, ELEMENTS_AT_ONCE // vocabulary)
    for start in range(0, positions, rows_at_once):
        block = slice(start, start + rows_at_once)
        ref, cand = reference[block].double(), candidate[block].double()
        likely = [ref.log_softmax(-1), cand.log_softmax(-1)]
        near = (side.reshape(-1).split(ELEMENTS_NEAR) for side in (ref, cand))
        for some_ref, some_cand in zip(*near, strict=True):
            sums.add(some_ref, some_cand)
        sums.add_distributions(*likely)
        # NaN or inf anywhere in a position makes all its likelihoods NaN
        sound = ~(likely[0][:, 0].isnan() | likely[1][:, 0].isnan())
        sums.add_ranks(reference[block], candidate[block], sound)
        if next_tokens is not None:
            following = next_tokens[block].long()
            for side, rows in enumerate(likely):
                losses[side] -= rows[: len(following)].gather(1, following[:, None]).sum().item()
    last_ref, last_cand = reference[-1].double(), candidate[-1].double()
    last_diff = last_cand - last_ref
    found = {
        **sums.figures(positions, vocabulary),
        "last_cosine": _cosine(last_ref, last_cand),
        "last_relative_mean": _ratio(last_diff.abs().sum().item(), last_ref.abs().sum().item()),
    }
    if next_tokens is not None and len(next_tokens):
        found["perplexity_reference"], found["perplexity_candidate"] = (
            _perplexity(loss / len(next_tokens)) for loss in losses
        )
    return found


class _Sums:
    """What is added up over blocks of positions."""

    def __init__(self) -> None:
        self.dot = self.ref_sq = self.cand_sq = self.diff_sq = self.diff_abs = self.ref_abs = 0.0
        self.max_abs = self.tolerance = self.max_relative = self.relative = self.kl = 0.0
        self.same_first = self.same_top = 0.0

    def add(self, ref: torch.Tensor, cand: torch.Tensor) -> None:
        self.dot += torch.dot(ref, cand).item()
        self.ref_sq += torch.dot(ref, ref).item()
        self.cand_sq += torch.dot(cand, cand).item()
        diff = (cand - ref).abs_()
        size = ref.abs()
        self.diff_sq += torch.dot(diff, diff).item()
        self.diff_abs += diff.sum().item()
        self.ref_abs += size.sum().item()
        self.max_abs = _larger(self.max_abs, diff.max().item())
        relative = diff / size
        total = relative.sum().item()
        if math.isnan(total):
            relative.masked_fill_(diff == 0, 0.0)  # 0 / 0 is no error
            total = relative.sum().item()
        self.relative += total
        self.max_relative = _larger(self.max_relative, relative.max().item())
        self.tolerance = _larger(self.tolerance, diff.div_(size.add_(1)).max().item())

    def add_distributions(self, ref: torch.Tensor, cand: torch.Tensor) -> None:
        share, apart = ref.exp(), ref - cand
        total = torch.dot(share.reshape(-1), apart.reshape(-1)).item()
        if math.isnan(total):  # perhaps of 0 times inf, a token that is ruled out and adds nothing
            total = torch.where(share > 0, share * apart, share).sum().item()
        self.kl += total

    def add_ranks(self, ref: torch.Tensor, cand: torch.Tensor, sound: torch.Tensor) -> None:
        top = min(TOP, ref.shape[1])
        first, second = ref.topk(top, -1).indices, cand.topk(top, -1).indices
        self.same_first += int(((first[:, 0] == second[:, 0]) & sound).sum())
        shared = (first[:, :, None] == second[:, None, :]).any(-1).double().mean(-1)
        self.same_top += (shared * sound).sum().item()

    def figures(self, positions: int, vocabulary: int) -> dict[str, float]:
        elements = positions * vocabulary
        return {
            "cosine": _ratio(self.dot, math.sqrt(self.ref_sq) * math.sqrt(self.cand_sq)),
            "max_abs": self.max_abs,
            "mean_abs": self.diff_abs / elements,
            "max_relative": self.max_relative,
            "mean_relative": self.relative / elements,
            "relative_l2": _ratio(math.sqrt(self.diff_sq), math.sqrt(self.ref_sq)),
            "relative_mean": _ratio(self.diff_abs, self.ref_abs),
            "tolerance": self.tolerance,
            "kl": max(self.kl, 0.0) / positions if self.kl == self.kl else self.kl,
            "top1_agreement": self.same_first / positions,
            "top5_agreement": self.same_top / positions,
        }


def first_difference(reference: torch.Tensor, candidate: torch.Tensor) -> int | None:
    """The position of the first token that differs, or None when the answers are the same."""
    for index, (ref, cand) in enumerate(zip(reference.tolist(), candidate.tolist(), strict=False)):
        if ref != cand:
            return index
    return None if len(reference) == len(candidate) else min(len(reference), len(candidate))


def margin(logits: torch.Tensor, chosen: int, other: int) -> float:
    """How much likelier ``chosen`` was than ``other``, in logits (vocabulary,)."""
    return (logits[chosen].double() - logits[other].double()).item()


def representable(values: torch.Tensor, dtype: torch.dtype) -> float:
    """The share of ``values`` that ``dtype`` can hold exactly: 1 where they were computed in it."""
    return (values.to(dtype).to(values.dtype) == values).double().mean().item()


def _cosine(left: torch.Tensor, right: torch.Tensor) -> float:
    return _ratio(
        torch.dot(left, right).item(), math.sqrt(torch.dot(left, left)) * math.sqrt(torch.dot(right, right))
    )


def _perplexity(loss: float) -> float:
    return math.exp(loss) if not loss > 700 else math.inf  # NaN stays NaN


def _ratio(above: float, below: float) -> float:
    return above / below if below else float("nan") if above else 0.0


def _larger(left: float, right: float) -> float:
    return right if right != right else left if left != left else max(left, right)  # NaN must not be hidden
