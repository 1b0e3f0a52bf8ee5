"""The embedded model's tokenizer: byte-level BPE spells any text; the lessons' words are whole."""

from __future__ import annotations

from typing import Any

from npukit.builtin.drawings import COLOURS, KINDS
from npukit.builtin.questions import ABOUT_PICTURES, NUMBERS, WHAT_IN_EACH, WITHOUT_PICTURE

START_OF_TURN, END_OF_TURN, PADDING = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
# The names under which the published model's processor asks its tokenizer for them.
PICTURE_TOKENS = {
    "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>",
    "image_start_token": "<image>",
    "image_end_token": "</image>",
    "slice_start_token": "<slice>",
    "slice_end_token": "</slice>",
    "image_id_start_token": "<image_id>",
    "image_id_end_token": "</image_id>",
}
# The one system message that the lessons hold.
SYSTEM_PROMPT = "You are a helpful assistant."
LARGEST_VOCABULARY = 500

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
    """The tokenizer, made from the lessons' own texts; always the same."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    texts = [
        *ABOUT_PICTURES,
        WHAT_IN_EACH,
        SYSTEM_PROMPT,
        *WITHOUT_PICTURE,
        *WITHOUT_PICTURE.values(),
        *NUMBERS,
        *COLOURS,
        *(f" {kind}{plural}" for kind in KINDS for plural in ("", "s")),
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
    # Each text counts often enough for its words to be merged whole.
    bpe.train_from_iterator(
        texts * 4,
        trainers.BpeTrainer(
            vocab_size=LARGEST_VOCABULARY,
            min_frequency=2,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=END_OF_TURN,
        pad_token=PADDING,
        extra_special_tokens=dict(PICTURE_TOKENS),
        padding_side="left",
        model_max_length=4096,
    )
    # Not among the extra ones: those take the place of a plain list of further special tokens.
    tokenizer.add_tokens([START_OF_TURN], special_tokens=True)
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer
