"""How well a model knows language, without keywords: built-in texts, against their own words in disorder.

A trained model finds a text likelier than the same tokens shuffled, and much likelier than random weights
do. A model whose weights, tokenizer or attention are wrong loses one or both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from npukit.session import Session

TEXTS = {
    "english": (
        "The sun rises in the east and sets in the west. Water boils at one hundred degrees. In the spring "
        "the days become longer, the snow melts, and the birds come back from the south. The children go to "
        "school in the morning, and in the evening the family sits at the table and eats together."
    ),
    "chinese": (
        "太阳从东方升起，从西方落下。水在一百度时沸腾。春天来了，白天变长，冰雪融化，鸟儿从南方飞回来。"
        "孩子们早上去上学，晚上一家人坐在桌边一起吃饭。中国的首都是北京，法国的首都是巴黎。"
    ),
}
SHUFFLE_SEED = 1234
ROWS_AT_ONCE = 16


def text_quality(session: Session, text: str) -> dict[str, float]:
    """Nats per token of ``text`` and of its tokens in disorder, and the mean entropy of what is predicted.

    ``uniform_entropy`` is that of the uniform distribution over as many logits, in nats.
    """
    tokens = session.task.tokenizer(text, return_tensors="pt")["input_ids"][0]
    order = torch.randperm(len(tokens) - 1, generator=torch.Generator().manual_seed(SHUFFLE_SEED)) + 1
    shuffled = torch.cat([tokens[:1], tokens[order]])
    loss, entropy, vocabulary = _score(session, tokens)
    return {
        "tokens": len(tokens),
        "uniform_entropy": math.log(vocabulary),
        "loss": loss,
        "perplexity": math.exp(min(loss, 700.0)),
        "shuffled_loss": _score(session, shuffled)[0],
        "entropy": entropy,
    }


def _score(session: Session, tokens: torch.Tensor) -> tuple[float, float, int]:
    device = session.device.torch_device
    inputs = {
        "input_ids": tokens[None].to(device),
        "attention_mask": torch.ones_like(tokens)[None].to(device),
    }
    logits = session.logits(inputs)
    loss = entropy = 0.0
    for start in range(0, len(tokens) - 1, ROWS_AT_ONCE):
        rows = torch.log_softmax(logits[start : min(start + ROWS_AT_ONCE, len(tokens) - 1)].double(), -1)
        wanted = tokens[start + 1 : start + 1 + len(rows)]
        loss -= rows.gather(1, wanted[:, None]).sum().item()
        entropy -= (rows.exp() * rows.clamp(min=-1e30)).sum().item()
    count = len(tokens) - 1
    return loss / count, entropy / count, logits.shape[1]


def measure_texts(session: Session, texts: Mapping[str, str]) -> dict[str, dict[str, float]]:
    return {name: text_quality(session, text) for name, text in texts.items()}


def repetition(token_ids: list[int], width: int = 4) -> float:
    """The share of ``width``-grams that were there before; 0 for an answer too short to repeat."""
    grams = [tuple(token_ids[i : i + width]) for i in range(len(token_ids) - width + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
