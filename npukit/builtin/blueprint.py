"""All of the embedded model's files but the weights.

Every trait of the published MiniCPM-V-4.6 is kept (three linear-attention layers then a full one,
a window merger inside the vision tower, 16x and 4x downsampling, an overview and slices, the
special tokens, tied embeddings); only the dimensions are small. The files hold just the keys that
every transformers with this class knows, 5.7 and later.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from npukit.builtin.tokenizer import build_tokenizer

PATCH_PIXELS = 14
# Edge of a slice, 448 in the published model.
SCALE_PIXELS = 112
MAX_SLICES = 9
TEXT_LAYERS, VISION_LAYERS = 4, 3
# The vision layer after which the window merger stands.
INSERT_LAYER = 1


def write_blueprint(directory: Path) -> None:
    """Write config, generation config, tokenizer, chat template and processor config into ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer()
    tokenizer.save_pretrained(directory)
    written = json.loads((directory / "tokenizer_config.json").read_text("utf-8"))
    # Newer transformers write a class name that older ones do not know; all know this one.
    _write(directory / "tokenizer_config.json", written | {"tokenizer_class": "PreTrainedTokenizerFast"})
    _write(directory / "config.json", config_json(tokenizer))
    _write(
        directory / "generation_config.json",
        {
            "do_sample": False,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        },
    )
    _write(directory / "processor_config.json", PROCESSOR)


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", "utf-8")


_PICTURES = {
    "do_convert_rgb": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "downsample_mode": "16x",
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "patch_size": PATCH_PIXELS,
    "resample": 3,
    "rescale_factor": 1 / 255,
    "scale_resolution": SCALE_PIXELS,
    "slice_mode": True,
    "use_image_id": True,
}
PROCESSOR = {
    "processor_class": "MiniCPMV4_6Processor",
    "image_processor": {
        "image_processor_type": "MiniCPMV4_6ImageProcessor",
        "max_slice_nums": MAX_SLICES,
        **_PICTURES,
    },
    "video_processor": {
        "video_processor_type": "MiniCPMV4_6VideoProcessor",
        "max_slice_nums": 1,
        **_PICTURES,
    },
}


def config_json(tokenizer: Any) -> dict[str, Any]:
    """The content of config.json."""
    return {
        "architectures": ["MiniCPMV4_6ForConditionalGeneration"],
        "model_type": "minicpmv4_6",
        "dtype": "float16",
        "image_size": SCALE_PIXELS,
        "insert_layer_id": INSERT_LAYER,
        "downsample_mode": "16x",
        "drop_vision_last_layer": False,
        "merge_kernel_size": [2, 2],
        "merger_times": 1,
        "image_token_id": tokenizer.image_token_id,
        "video_token_id": tokenizer.video_token_id,
        "tie_word_embeddings": True,
        "text_config": {
            "model_type": "qwen3_5_text",
            "vocab_size": -(-len(tokenizer) // 16) * 16,
            "hidden_size": 96,
            "intermediate_size": 224,
            "num_hidden_layers": TEXT_LAYERS,
            "layer_types": [
                "full_attention" if layer % 4 == 3 else "linear_attention" for layer in range(TEXT_LAYERS)
            ],
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "attention_bias": False,
            "attention_dropout": 0.0,
            "linear_conv_kernel_dim": 4,
            "linear_num_key_heads": 4,
            "linear_num_value_heads": 4,
            "linear_key_head_dim": 24,
            "linear_value_head_dim": 24,
            "hidden_act": "silu",
            "rms_norm_eps": 1e-06,
            "max_position_embeddings": 4096,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10000000.0,
                "partial_rotary_factor": 0.25,
                "mrope_section": [2, 1, 1],
                "mrope_interleaved": True,
            },
            "tie_word_embeddings": True,
            "use_cache": True,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        },
        "vision_config": {
            "model_type": "minicpmv4_6_vision",
            "hidden_size": 64,
            "intermediate_size": 192,
            "num_hidden_layers": VISION_LAYERS,
            "num_attention_heads": 4,
            "num_channels": 3,
            "image_size": 2 * SCALE_PIXELS,
            "patch_size": PATCH_PIXELS,
            "insert_layer_id": INSERT_LAYER,
            "window_kernel_size": [2, 2],
            "hidden_act": "gelu_pytorch_tanh",
            "layer_norm_eps": 1e-06,
            "attention_dropout": 0.0,
        },
    }
