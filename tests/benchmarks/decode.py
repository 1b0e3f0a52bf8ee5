"""Decoding with the accelerations against plain transformers generate: same weights, same dtype, same prompt,
in turns, so that what else the machine does falls on both."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from npukit.accelerations import accelerate, wanted
from npukit.accelerations.decoder import Decoder
from npukit.devices.base import Device, open_device
from npukit.devices.name import DeviceName
from npukit.measures.dispatches import Counting
from npukit.measures.limits import device_limits
from tests.benchmarks import Figure

THREADS = 2
CONTEXT = 128
TURNS = 4
NEW_TOKENS = 16  # in every turn: 64 in all


@dataclass(frozen=True)
class Shape:
    """A model by its dimensions, random weights. Targets are ratios by dtype."""

    name: str
    build: Callable[[], Any]
    targets: dict[str, float]
    min_memory_share: float | None = None


def measure() -> list[Figure]:
    torch.set_num_threads(THREADS)
    device = open_device(DeviceName("cpu"))
    return [
        figure for shape in SHAPES for dtype in shape.targets for figure in measure_one(shape, dtype, device)
    ]


def measure_one(shape: Shape, dtype: str, device: Device) -> list[Figure]:
    torch.manual_seed(0)
    model = shape.build().eval().to(getattr(torch, dtype))
    model.generation_config.eos_token_id = None
    prompt = torch.randint(0, model.config.vocab_size, (1, CONTEXT))
    outcomes, decoder = accelerate(model, wanted(["auto"]), device)
    if decoder is None:
        raise RuntimeError(f"{shape.name} {dtype}: {outcomes}")
    plain_s, own_s = [], []
    for _ in range(TURNS):
        plain, seconds = timed(plain_generate, model, prompt)
        plain_s.append(seconds)
        own, seconds = timed(own_generate, decoder, prompt)
        own_s.append(seconds)
    conditions = (
        f"{dtype}, {THREADS} threads, {CONTEXT}-token context, {TURNS} turns of {NEW_TOKENS} new tokens, "
        f"fastest turn of each"
    )
    rates = [(NEW_TOKENS - 1) / min(seconds) for seconds in (plain_s, own_s)]
    bandwidth = device_limits(device, model.dtype)["read_bytes_per_s"]
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    name = f"{shape.name} {dtype}"
    figures = [
        Figure(f"{name}, plain generate", rates[0], "tokens/s", conditions=conditions),
        Figure(f"{name}, accelerated", rates[1], "tokens/s", conditions=conditions),
        Figure(f"{name}, ratio", rates[1] / rates[0], "x", shape.targets[dtype], "above", conditions),
        Figure(
            f"{name}, share of the read limit",
            weights * rates[1] / bandwidth,
            "",
            shape.min_memory_share,
            "above",
            f"{weights / 1e9:.3f} GB of weights a token, {bandwidth / 1e9:.1f} GB/s measured beside it",
        ),
        Figure(f"{name}, dispatches per token, plain", dispatches(plain_generate, model, prompt), ""),
        Figure(f"{name}, dispatches per token, accelerated", dispatches(own_generate, decoder, prompt), ""),
        Figure(f"{name}, equal tokens", float((plain == own).float().mean()), "", 1.0, "above")
        if dtype == "float32"
        else Figure(f"{name}, equal tokens", float((plain == own).float().mean()), ""),
    ]
    del model, decoder
    gc.collect()
    return figures


class Stopwatch:
    """Notes when tokens come."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def put(self, value: torch.Tensor) -> None:
        self.moments.append(time.perf_counter())

    def end(self) -> None:
        pass

    def criterion(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        return torch.zeros(1, dtype=torch.bool)


Generate = Callable[[Any, torch.Tensor, int, Stopwatch], torch.Tensor]


def plain_generate(model: Any, prompt: torch.Tensor, tokens: int, watch: Stopwatch) -> torch.Tensor:
    mask = torch.ones_like(prompt)
    lengths = {"max_new_tokens": tokens, "min_new_tokens": tokens}
    found: torch.Tensor = model.generate(
        input_ids=prompt, attention_mask=mask, do_sample=False, streamer=watch, **lengths
    )
    return found


def own_generate(decoder: Decoder, prompt: torch.Tensor, tokens: int, watch: Stopwatch) -> torch.Tensor:
    inputs = {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)}
    return decoder.generate(inputs, max_new_tokens=tokens, min_new_tokens=tokens, watch=watch)


@torch.inference_mode()
def timed(generate: Generate, what: Any, prompt: torch.Tensor) -> tuple[torch.Tensor, float]:
    """The tokens, and the seconds from the first new one to the last."""
    watch = Stopwatch()
    tokens = generate(what, prompt, NEW_TOKENS, watch)
    return tokens, watch.moments[-1] - watch.moments[1]  # the prompt is put first


@torch.no_grad()
def dispatches(generate: Generate, what: Any, prompt: torch.Tensor) -> int:
    """Operators that one more token takes, composite ones taken apart, views left out."""
    counts: list[Counter[str]] = []
    for tokens in (2, 3):
        with Counting() as counting:
            generate(what, prompt[:, :8], tokens, Stopwatch())
        counts.append(counting.operators)
    return sum((counts[1] - counts[0]).values())


def hybrid() -> Any:
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    return Qwen3_5ForCausalLM(
        Qwen3_5TextConfig(
            vocab_size=248094,
            hidden_size=1024,
            intermediate_size=3584,
            num_hidden_layers=24,
            num_attention_heads=8,
            num_key_value_heads=2,
            head_dim=256,
            linear_num_key_heads=16,
            linear_num_value_heads=16,
            linear_key_head_dim=128,
            linear_value_head_dim=128,
            tie_word_embeddings=True,
        )
    )


def smollm2() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=49152,
            hidden_size=576,
            intermediate_size=1536,
            num_hidden_layers=30,
            num_attention_heads=9,
            num_key_value_heads=3,
            tie_word_embeddings=True,
        )
    )


SHAPES = (
    Shape("SmolLM2-135M", smollm2, {"float32": 1.5, "bfloat16": 1.5}, min_memory_share=0.6),
    Shape("MiniCPM-V-4.6 text", hybrid, {"float32": 1.5, "bfloat16": 6.0}),
)
