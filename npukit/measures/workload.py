"""One prompt made into the workload that is asked for: so many tokens, so many times."""

from __future__ import annotations

from typing import Any

import torch

from npukit.errors import NpukitError


def sized(inputs: dict[str, Any], tokens: int, filler: list[int]) -> dict[str, Any]:
    """``inputs`` of one prompt with exactly ``tokens`` tokens; 0 leaves them as they are.

    ``filler`` are the ids to go on with, repeated. Text is cut, pictures are not: raises NpukitError
    ``bench.prompt-too-long`` where a prompt with pictures has more tokens already.
    """
    have = inputs["input_ids"].shape[1]
    if not tokens or tokens == have:
        return inputs
    per_token = {name: value for name, value in inputs.items() if _per_token(value, have)}
    if tokens < have:
        if set(per_token) != set(inputs):
            raise NpukitError("bench.prompt-too-long", have=have, asked=tokens)
        return {name: value[:, :tokens] for name, value in inputs.items()}
    repeated = (filler * (tokens // len(filler) + 1))[: tokens - have]
    # a mask goes on as ones, the kinds of tokens (text or picture) as zeros: text
    more = {"input_ids": repeated, "attention_mask": [1] * len(repeated)}
    longer = {
        name: torch.cat([value, value.new_tensor([more.get(name, [0] * len(repeated))])], dim=1)
        for name, value in per_token.items()
    }
    return {**inputs, **longer}


def repeated(inputs: dict[str, Any], batch: int) -> dict[str, Any]:
    """The same prompt ``batch`` times. MiniCPM-V packs its pictures side by side in one row of patches."""

    def one(name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        packed = name == "pixel_values" and "target_sizes" in inputs
        return torch.cat([value] * batch, dim=-1 if packed else 0)

    return inputs if batch == 1 else {name: one(name, value) for name, value in inputs.items()}


def _per_token(value: Any, tokens: int) -> bool:
    return isinstance(value, torch.Tensor) and value.shape == (1, tokens)
