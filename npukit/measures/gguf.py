"""Turn a GGUF file into a model directory in safetensors; run as a child of its own by the pypi source.

transformers reads GGUF (with the gguf package) but refuses to save what it read; so its tensors go into a
fresh model of the same config, in bfloat16, and that is saved with the tokenizer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def convert(gguf: Path, target: Path) -> None:
    """Write config.json, model.safetensors and the tokenizer's files to ``target``."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = {"gguf_file": gguf.name}
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, **options)
    model = type(read)(read.config).bfloat16()
    model.load_state_dict(read.state_dict())
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.generation_config = read.generation_config
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(gguf.parent, **options).save_pretrained(target)
    settings = target / "tokenizer_config.json"
    # transformers 5 writes a class name that 4.x does not know; both know this one
    content = {**json.loads(settings.read_text()), "tokenizer_class": "PreTrainedTokenizerFast"}
    settings.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
