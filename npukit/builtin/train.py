"""Train the embedded model: ``python -m npukit.builtin.train --work DIR [--out DIR]``.

The same seed, steps, torch and thread count give the same weights. Stopped in the middle, it goes
on from its last checkpoint in ``--work``.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Subset

from npukit.builtin import model_dir
from npukit.builtin.batched import batched
from npukit.builtin.blueprint import build_config
from npukit.builtin.drawings import COLOURS, KINDS, MOST
from npukit.builtin.export import export
from npukit.builtin.lessons import Batch, Lessons

CHECKPOINT_EVERY = 250
WARMUP_STEPS = 100
FACETS = (len(KINDS), MOST, len(COLOURS))


def build_model(tokenizer: Any) -> Any:
    """The model with fresh weights. The library's own start for the vision tower suits only loading."""
    from transformers import MiniCPMV4_6ForConditionalGeneration

    model = MiniCPMV4_6ForConditionalGeneration(build_config(tokenizer))
    for part in (model.model.vision_tower, model.model.merger):
        for module in part.modules():
            if isinstance(module, nn.Linear | nn.Conv2d):
                nn.init.normal_(module.weight, std=0.7 * module.weight[0].numel() ** -0.5)
                nn.init.zeros_(module.bias)
    nn.init.normal_(model.model.vision_tower.embeddings.position_embedding.weight, std=0.2)
    return model


def loss_of(model: Any, probe: nn.Linear, batch: Batch) -> tuple[Tensor, list[float]]:
    """The loss to descend, and the probe's share of right kinds, counts and colours."""
    inputs = dict(batch.inputs)
    mode = batch.lesson.downsample_mode
    probe_loss, hits = torch.zeros(()), []
    if batch.overviews:
        seen = model.model.get_image_features(
            inputs.pop("pixel_values"), inputs.pop("target_sizes"), downsample_mode=mode
        )
        inputs["mm_encoder_outputs"] = {"image": seen}
        overviews = torch.stack([seen.pooler_output[view].mean(0) for view in batch.overviews])
        for logits, truth in zip(probe(overviews).split(FACETS, -1), batch.facets.T, strict=True):
            probe_loss = probe_loss + nn.functional.cross_entropy(logits, truth)
            hits.append((logits.argmax(-1) == truth).float().mean().item())
    hidden = model.model(**inputs, downsample_mode=mode, use_cache=False)[0]
    targets = batch.labels[:, 1:]
    learned = targets != -100
    logits = model.lm_head(hidden[:, :-1][learned])
    return nn.functional.cross_entropy(logits, targets[learned]) + 0.5 * probe_loss, hits


def learning_rate(step: int, steps: int, peak: float) -> float:
    """A short rise, then half a cosine down to a hundredth."""
    fall = 0.5 * (1 + math.cos(math.pi * step / steps))
    return peak * min(1.0, (step + 1) / WARMUP_STEPS) * (0.99 * fall + 0.01)


def optimizer_for(model: Any, probe: nn.Linear) -> torch.optim.Optimizer:
    matrices, rest = [], list(probe.parameters())
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim >= 2 and "embed" not in name else rest).append(parameter)
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))


def train(work: Path, steps: int, peak: float, seed: int) -> tuple[Any, Any]:
    """The trained model and its tokenizer; checkpoints go to ``work``."""
    torch.manual_seed(seed)
    lessons = Lessons(steps, seed)
    model = build_model(lessons.tokenizer)
    # Learns kind, count and colour straight from the picture features; it is thrown away at the end.
    probe = nn.Linear(model.config.text_config.hidden_size, sum(FACETS))
    optimizer = optimizer_for(model, probe)
    checkpoint = work / "checkpoint.pt"
    first = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        probe.load_state_dict(state["probe"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    ahead = DataLoader(
        Subset(lessons, range(first, steps)), batch_size=None, num_workers=1, prefetch_factor=16
    )
    model.train()
    losses: dict[str, list[float]] = {}
    probed: list[list[float]] = []
    began = time.monotonic()
    for step, batch in enumerate(ahead, first):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, peak)
        loss, hits = loss_of(model, probe, batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.setdefault(batch.lesson.name, []).append(loss.item())
        if hits:
            probed.append(hits)
        if (step + 1) % 50 == 0:
            shown = "  ".join(f"{name} {sum(seen) / len(seen):.3f}" for name, seen in sorted(losses.items()))
            right = " ".join(f"{sum(x) / len(x):.2f}" for x in zip(*probed, strict=True))
            sys.stderr.write(f"{step + 1}/{steps} {time.monotonic() - began:.0f}s  {shown}  probe {right}\n")
            losses.clear()
            probed.clear()
        if (step + 1) % CHECKPOINT_EVERY == 0 or step + 1 == steps:
            state = {
                "model": model.state_dict(),
                "probe": probe.state_dict(),
                "optimizer": optimizer.state_dict(),
                "step": step + 1,
            }
            torch.save(state, checkpoint.with_suffix(".part"))
            checkpoint.with_suffix(".part").replace(checkpoint)
    return model.eval(), lessons.tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="where checkpoints are kept")
    parser.add_argument("--out", type=Path, default=model_dir(), help="the model directory to write")
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--peak", type=float, default=2e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.work.mkdir(parents=True, exist_ok=True)
    with batched():
        model, tokenizer = train(options.work, options.steps, options.peak, options.seed)
        export(model, tokenizer, options.out)


if __name__ == "__main__":
    main()
