"""A tensor in a few numbers, so that two runs can be compared module by module without keeping either.

A sketch is linear: signs drawn once for all, then every ``WIDTH``-th element added up. So the difference of
two sketches is the sketch of the difference, and its length estimates the difference's length within
about √(2 / WIDTH), whatever the tensor's size (Alon, Matias and Szegedy 1996; Charikar et al. 2002).
"""

from __future__ import annotations

import functools

import torch

WIDTH = 1024
PERIOD = 1 << 20
SEED = 20240607
STEP = 7919  # prime, so no multiple of WIDTH


@functools.lru_cache(maxsize=1)
def _signs() -> torch.Tensor:
    generator = torch.Generator().manual_seed(SEED)
    return torch.randint(0, 2, (PERIOD,), generator=generator, dtype=torch.int8).mul_(2).sub_(1).double()


def sketch(tensor: torch.Tensor) -> torch.Tensor:
    """(WIDTH + 1,) float64 on the CPU: the folded sums, then the tensor's own length."""
    flat = tensor.detach().to("cpu").reshape(-1)
    folded = torch.zeros(WIDTH, dtype=torch.float64)
    square = torch.zeros((), dtype=torch.float64)
    signs = _signs()
    for number, start in enumerate(range(0, flat.numel(), PERIOD)):
        block = flat[start : start + PERIOD].double()
        square += torch.dot(block, block)
        # another order of signs for every period, else equal errors a period apart would add up
        signed = block * (signs.roll(number * STEP) if number else signs)[: block.numel()]
        whole = signed.numel() // WIDTH * WIDTH
        folded += signed[:whole].reshape(-1, WIDTH).sum(0)
        folded[: signed.numel() - whole] += signed[whole:]
    return torch.cat([folded, square.sqrt()[None]])


def relative_distance(reference: torch.Tensor, candidate: torch.Tensor) -> float:
    """The estimated length of the difference over the reference's own length."""
    apart = (candidate[:WIDTH] - reference[:WIDTH]).norm().item()
    length = reference[WIDTH].item()
    return apart / length if length else (0.0 if apart == 0 else float("inf")) if apart == apart else apart
