"""Train the embedded model from nothing; about an hour on two cores.

    python -m npukit.builtin.train --work DIR [--out DIR]

The same seed, steps, torch and number of threads give the same weights. A training that was stopped goes on
from the last checkpoint in ``--work``. glibc gives freed memory back too eagerly here: MALLOC_MMAP_MAX_=0 in
the environment makes the steps shorter.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils.data import DataLoader, Subset
from transformers import AutoConfig, MiniCPMV4_6ForConditionalGeneration

from npukit.builtin import model_dir
from npukit.builtin.batched import batched
from npukit.builtin.blueprint import write_blueprint
from npukit.builtin.drawings import COLOURS, KINDS, MOST
from npukit.builtin.lessons import Batch, Lessons

FACETS = (len(KINDS), MOST, len(COLOURS))
WARMUP_STEPS, COOLDOWN_STEPS = 100, 1000
# How long the slow fall would take to reach its foot.
SLOW_FALL_STEPS = 6000
WEIGHT_DECAY = 0.05
PROBE_WEIGHT = 0.5


@dataclass(frozen=True)
class Course:
    """How the model is trained. ``peak`` is the highest learning rate; the other numbers count steps."""

    steps: int = 5250
    seed: int = 0
    peak: float = 2e-3
    checkpoint_every: int = 250
    report_every: int = 50

    def learning_rate(self, step: int) -> float:
        """A short rise, a slow fall along a cosine, and in the end a steady fall to nothing."""
        rise = min(1.0, (step + 1) / WARMUP_STEPS)
        slow = 0.99 * 0.5 * (1 + math.cos(math.pi * step / SLOW_FALL_STEPS)) + 0.01
        end = min(1.0, (self.steps - step) / COOLDOWN_STEPS)
        return self.peak * rise * slow * end


def build_model(directory: Path) -> Any:
    """The model of ``directory``'s config with fresh weights, in fp32.

    The library's start for the vision tower (weights of size 1 in the window merger) is made for loading
    over it; training begins from smaller ones.
    """
    model = MiniCPMV4_6ForConditionalGeneration(AutoConfig.from_pretrained(directory))
    for part in (model.model.vision_tower, model.model.merger):
        for module in part.modules():
            if isinstance(module, nn.Linear | nn.Conv2d):
                nn.init.normal_(module.weight, std=0.7 * module.weight[0].numel() ** -0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
    nn.init.normal_(model.model.vision_tower.embeddings.position_embedding.weight, std=0.2)
    return model


def build_probe(model: Any) -> nn.Linear:
    """Reads kind, count and colour straight from the picture's features: without it they are learned late."""
    return nn.Linear(model.config.text_config.hidden_size, sum(FACETS))


def build_optimizer(model: Any, probe: nn.Linear) -> torch.optim.Optimizer:
    matrices: list[nn.Parameter] = []
    rest = list(probe.parameters())
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim >= 2 and "embed" not in name else rest).append(parameter)
    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))


def loss_of(model: Any, probe: nn.Linear, batch: Batch) -> tuple[Tensor, Tensor]:
    """The answers' cross entropy and the probe's, both scalars; the probe's is 0 without pictures."""
    inputs: dict[str, Any] = dict(batch.inputs)
    mode = batch.lesson.downsample_mode
    probed = torch.zeros(())
    if batch.overviews:
        seen = model.model.get_image_features(
            inputs.pop("pixel_values"), inputs.pop("target_sizes"), downsample_mode=mode
        )
        inputs["mm_encoder_outputs"] = {"image": seen}
        overviews = torch.stack([seen.pooler_output[view].mean(0) for view in batch.overviews])
        for logits, truth in zip(probe(overviews).split(FACETS, -1), batch.facets.T, strict=True):
            probed = probed + nn.functional.cross_entropy(logits, truth)
    hidden = model.model(**inputs, downsample_mode=mode, use_cache=False)[0]
    targets = batch.labels[:, 1:]
    learned = targets != -100
    logits = model.lm_head(hidden[:, :-1][learned])
    return nn.functional.cross_entropy(logits, targets[learned]), probed


def train(work: Path, course: Course, report: Callable[[str], object]) -> Any:
    """The trained model; ``work`` receives its other files and the checkpoints."""
    write_blueprint(work)
    torch.manual_seed(course.seed)
    model = build_model(work)
    probe = build_probe(model)
    optimizer = build_optimizer(model, probe)
    learned = {"model": model, "probe": probe, "optimizer": optimizer}
    checkpoint = work / "checkpoint.pt"
    first = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        first = state.pop("step")
        for name, part in learned.items():
            part.load_state_dict(state[name])
    lessons = Subset(Lessons(work, course.steps, course.seed), range(first, course.steps))
    # The next batches are drawn in a second process meanwhile.
    ahead = DataLoader(lessons, batch_size=None, num_workers=1, prefetch_factor=16)
    model.train()
    losses: dict[str, list[float]] = {}
    began = time.monotonic()
    for step, batch in enumerate(ahead, first):
        for group in optimizer.param_groups:
            group["lr"] = course.learning_rate(step)
        answers, probed = loss_of(model, probe, batch)
        optimizer.zero_grad()
        (answers + PROBE_WEIGHT * probed).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.setdefault(batch.lesson.name, []).append(answers.item())
        done = step + 1
        if done % course.report_every == 0:
            means = "  ".join(f"{name} {sum(seen) / len(seen):.3f}" for name, seen in sorted(losses.items()))
            report(f"{done}/{course.steps}  {time.monotonic() - began:.0f} s  {means}")
            losses.clear()
        if done % course.checkpoint_every == 0 or done == course.steps:
            state = {name: part.state_dict() for name, part in learned.items()} | {"step": done}
            part_written = checkpoint.with_suffix(".part")
            torch.save(state, part_written)
            part_written.replace(checkpoint)
    return model.eval()


def save_weights(model: Any, path: Path) -> None:
    """As float16, half the size at the same answers; the head is the embedding's and is not stored twice."""
    tensors = {name: value.half() for name, value in model.state_dict().items() if name != "lm_head.weight"}
    save_file(tensors, path, metadata={"format": "pt"})
    # safetensors makes the file readable by its owner alone
    path.chmod(0o644)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="where checkpoints are kept")
    parser.add_argument("--out", type=Path, default=model_dir(), help="the model directory to write")
    parser.add_argument("--steps", type=int, default=Course.steps)
    parser.add_argument("--seed", type=int, default=Course.seed)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with batched():
        model = train(
            options.work,
            Course(options.steps, options.seed),
            lambda line: sys.stderr.write(f"{line}\n"),
        )
    write_blueprint(options.out)
    save_weights(model, options.out / "model.safetensors")


if __name__ == "__main__":
    main()
