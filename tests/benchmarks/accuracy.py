"""Comparing two recordings of the size that published adaptations have: 235 positions, 248,094 tokens."""

from __future__ import annotations

import resource
import time

import torch

from npukit.compare import distances
from tests.benchmarks import Figure

POSITIONS, VOCABULARY = 235, 248_094
ROUNDS = 3


def measure() -> list[Figure]:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # several threads wait for each other on a busy machine, and waiting costs CPU
    # in place, so that no temporary raises the peak before the comparison does
    reference = torch.empty(POSITIONS, VOCABULARY).normal_()
    candidate = torch.empty(POSITIONS, VOCABULARY).normal_().mul_(1e-3).add_(reference)
    following = torch.randint(VOCABULARY, (POSITIONS - 1,))
    before = peak_bytes()
    spent = []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        distances(reference, candidate, following)
        spent.append((time.perf_counter() - wall, time.process_time() - cpu))
    conditions = f"best of {ROUNDS}, 1 thread"
    beyond = (peak_bytes() - before) / reference.nbytes
    return [
        Figure("all figures of one prompt, wall", min(w for w, _ in spent), "s", conditions=conditions),
        Figure("all figures of one prompt, CPU", min(c for _, c in spent), "s", 3.0, conditions=conditions),
        Figure("peak memory beyond the inputs", beyond, "x of one input", 0.5, conditions=conditions),
    ]


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
