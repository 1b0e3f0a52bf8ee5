"""Write the embedded model as a directory that loads like one from a hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from npukit.builtin.blueprint import build_processor, config_json

# What the published model's files hold for generation: greedy, and where an answer ends.
_GENERATION = ("eos_token_id", "pad_token_id")


def export(model: Any, tokenizer: Any, directory: Path) -> None:
    """Weights as float16 (half the size; the answers do not change), config, tokenizer and processor."""
    directory.mkdir(parents=True, exist_ok=True)
    tied = "lm_head.weight"
    tensors = {
        name: tensor.to(torch.float16).contiguous()
        for name, tensor in model.state_dict().items()
        if name != tied
    }
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    _write(directory / "config.json", config_json(tokenizer) | {"dtype": "float16"})
    _write(
        directory / "generation_config.json",
        {"do_sample": False} | {name: getattr(tokenizer, name) for name in _GENERATION},
    )
    build_processor(tokenizer).save_pretrained(directory)
    # The class's name in every version; newer ones write a name of their own.
    path = directory / "tokenizer_config.json"
    _write(path, json.loads(path.read_text("utf-8")) | {"tokenizer_class": "PreTrainedTokenizerFast"})


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", "utf-8")
