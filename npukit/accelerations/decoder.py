"""The greedy loop: the model's own forward over the prompt, then one step per token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch

from npukit.accelerations import Refused
from npukit.accelerations.step import Step

# what would change greedy choices, with the values that do not
NEUTRAL = {
    "do_sample": (None, False),
    "num_beams": (None, 1),
    "repetition_penalty": (None, 1.0),
    "encoder_repetition_penalty": (None, 1.0),
    "no_repeat_ngram_size": (None, 0),
    "bad_words_ids": (None,),
    "suppress_tokens": (None,),
    "begin_suppress_tokens": (None,),
    "forced_bos_token_id": (None,),
    "forced_eos_token_id": (None,),
    "sequence_bias": (None,),
    "guidance_scale": (None, 1.0),
    "exponential_decay_length_penalty": (None,),
}


class Watch(Protocol):
    """What is told of every token: a streamer and a stopping criterion of transformers."""

    def put(self, value: torch.Tensor) -> None: ...

    def end(self) -> None: ...

    def criterion(self, input_ids: torch.Tensor, scores: Any) -> torch.Tensor: ...


class Decoder:
    """Greedy generation, batch of 1, equal to transformers' own."""

    def __init__(self, model: Any, step: Step) -> None:
        self.model, self.step = model, step
        self._base: Any = getattr(model, model.base_model_prefix, None)
        if self._base is None:
            raise Refused(f"{type(model).__name__} has no base model apart from its head")
        eos = model.generation_config.eos_token_id
        ids = [] if eos is None else eos if isinstance(eos, list) else [eos]
        self._eos = frozenset(ids)
        self._eos_index = torch.tensor(ids, dtype=torch.int64, device=step.head.weight.device)

    def serves(self, inputs: Mapping[str, Any], choosing: Mapping[str, Any]) -> bool:
        """Whether generate would do the same: one prompt, not padded, nothing that changes choices."""
        config, mask = self.model.generation_config, inputs.get("attention_mask")
        settings = {name: choosing.get(name, getattr(config, name, None)) for name in NEUTRAL}
        return (
            inputs["input_ids"].shape[0] == 1
            and inputs.get("use_cache", True) is not False  # a recipe may rule the cache out
            and (mask is None or bool(mask.all()))
            and all(settings[name] in neutral for name, neutral in NEUTRAL.items())
        )

    def prefill(self, inputs: Mapping[str, Any], length: int) -> torch.Tensor:
        """Logits (1, vocabulary) of the prompt's last position alone; the step goes on from there."""
        output = self._base(**{**inputs, "use_cache": True})
        cache = output.get("cache") if "cache" in output else output.get("past_key_values")
        if not hasattr(cache, "layers"):
            raise Refused(f"the layers of its cache, a {type(cache).__name__}, cannot be read")
        delta = getattr(self._base, "rope_deltas", None)  # pictures take fewer positions than tokens
        shift = 0 if delta is None else int(delta.reshape(-1)[0])
        self.step.begin(cache, inputs["input_ids"].shape[1], length, shift)
        return self.step.head(output[0][:, -1])

    def generate(
        self,
        inputs: Mapping[str, Any],
        *,
        max_new_tokens: int,
        min_new_tokens: int | None,
        watch: Watch,
        on_logits: Callable[[torch.Tensor], None] | None = None,
    ) -> torch.Tensor:
        """Prompt and answer as transformers' generate gives them, (1, positions). ``inputs`` with options;
        ``on_logits`` is given what each token was chosen from, (vocabulary,)."""
        prompt = inputs["input_ids"]
        watch.put(prompt.cpu())
        logits = self.prefill(inputs, prompt.shape[1] + max_new_tokens)
        tokens: list[torch.Tensor] = []
        while True:
            if on_logits is not None:
                on_logits(logits[0].float())
            if self._eos and len(tokens) < (min_new_tokens or 0):
                logits.index_fill_(-1, self._eos_index, float("-inf"))
            token = logits.argmax(-1)
            tokens.append(token)
            shown, arrived = self._show(token)
            last = len(tokens) == max_new_tokens
            # an accelerator works on the next token while the host learns of this one
            ahead = None if last or arrived is None else self.step(token)
            if arrived is not None:
                arrived.synchronize()
            watch.put(shown)
            if bool(watch.criterion(shown[None], None)) or int(shown) in self._eos or last:
                break
            logits = self.step(token) if ahead is None else ahead
        watch.end()
        return torch.cat([prompt, torch.stack(tokens, 1)], 1)

    def _show(self, token: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """The token on the host, and the event after which it is there (None: it is)."""
        if token.device.type == "cpu":
            return token, None
        shown = token.to("cpu", non_blocking=True)
        arrived = getattr(torch, token.device.type).Event()
        arrived.record()
        return shown, arrived
