"""What the embedded model is made of before any training: tokenizer, config, processor.

Every trait of the published MiniCPM-V-4.6 is kept (three linear-attention layers then a full one,
a window merger inside the vision tower, 16x and 4x downsampling, slices, an overview before them,
the special tokens, tied embeddings); only the dimensions are small.
"""

from __future__ import annotations

from typing import Any

PATCH_PIXELS = 14
# Edge of a slice in pixels, 448 in the published model.
SCALE_PIXELS = 112
MAX_SLICES = 9

END_OF_TURN = "<|im_end|>"
PADDING = "<|endoftext|>"
START_OF_TURN = "<|im_start|>"
SPECIAL_TOKENS = {
    "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>",
    "image_start_token": "<image>",
    "image_end_token": "</image>",
    "slice_start_token": "<slice>",
    "slice_end_token": "</slice>",
    "image_id_start_token": "<image_id>",
    "image_id_end_token": "</image_id>",
}

# What the model has seen as a system message.
SYSTEM_PROMPT = "You are a helpful assistant."

CHAT_TEMPLATE = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.content is string %}
        {{- message.content }}
    {%- else %}
        {%- for part in message.content %}
            {%- if part.type == 'image' %}
                {{- '<|image_pad|>' }}
            {%- elif part.type == 'video' %}
                {{- '<|video_pad|>' }}
            {%- elif part.type == 'text' %}
                {{- part.text }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def build_tokenizer() -> Any:
    """A byte-level BPE tokenizer that knows the words of the lessons and can spell everything else."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    from npukit.builtin.drawings import COLOURS, KINDS
    from npukit.builtin.questions import ABOUT_PICTURES, NUMBERS, WHAT_IN_EACH, WITHOUT_PICTURE

    words = [f" {kind}{plural}" for kind in KINDS for plural in ("", "s")]
    texts = [
        *ABOUT_PICTURES,
        WHAT_IN_EACH,
        SYSTEM_PROMPT,
        *WITHOUT_PICTURE,
        *WITHOUT_PICTURE.values(),
        *NUMBERS,
        *COLOURS,
        *words,
        "none",
        "two cats, one dog",
        "user\n",
        "assistant\n",
        "system\n",
        "0123456789",
    ]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        texts * 4,
        trainers.BpeTrainer(
            vocab_size=500,
            min_frequency=2,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=END_OF_TURN,
        pad_token=PADDING,
        extra_special_tokens=dict(SPECIAL_TOKENS),
        padding_side="left",
        model_max_length=4096,
    )
    tokenizer.add_tokens([START_OF_TURN], special_tokens=True)
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def config_json(tokenizer: Any) -> dict[str, Any]:
    """The content of config.json: only keys that every transformers with this class knows."""
    vision_layers, insert_layer, text_layers = 3, 1, 4
    return {
        "architectures": ["MiniCPMV4_6ForConditionalGeneration"],
        "model_type": "minicpmv4_6",
        "dtype": "float32",
        "image_size": SCALE_PIXELS,
        "insert_layer_id": insert_layer,
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
            "num_hidden_layers": text_layers,
            "layer_types": [
                "full_attention" if layer % 4 == 3 else "linear_attention" for layer in range(text_layers)
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
            "num_hidden_layers": vision_layers,
            "num_attention_heads": 4,
            "num_channels": 3,
            "image_size": 2 * SCALE_PIXELS,
            "patch_size": PATCH_PIXELS,
            "insert_layer_id": insert_layer,
            "window_kernel_size": [2, 2],
            "hidden_act": "gelu_pytorch_tanh",
            "layer_norm_eps": 1e-06,
            "attention_dropout": 0.0,
        },
    }


def build_config(tokenizer: Any) -> Any:
    from transformers import MiniCPMV4_6Config

    return MiniCPMV4_6Config(**config_json(tokenizer))


def build_processor(tokenizer: Any) -> Any:
    """The published model's own processor class on the PIL backend; works where torchvision is missing.

    The class insists that each part is of a registered class, and without torchvision the registry
    holds stand-ins, so that one check is left out.
    """
    from transformers import MiniCPMV4_6ImageProcessorPil, MiniCPMV4_6Processor
    from transformers.models.minicpmv4_6.video_processing_minicpmv4_6 import MiniCPMV4_6VideoProcessor

    class Processor(MiniCPMV4_6Processor):
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> None:
            return None

    Processor.__name__ = Processor.__qualname__ = "MiniCPMV4_6Processor"
    images = MiniCPMV4_6ImageProcessorPil(
        scale_resolution=SCALE_PIXELS, patch_size=PATCH_PIXELS, max_slice_nums=MAX_SLICES
    )
    videos = MiniCPMV4_6VideoProcessor(
        scale_resolution=SCALE_PIXELS, patch_size=PATCH_PIXELS, max_slice_nums=1
    )
    return Processor(
        image_processor=images,
        video_processor=videos,
        tokenizer=tokenizer,
        chat_template=tokenizer.chat_template,
    )
