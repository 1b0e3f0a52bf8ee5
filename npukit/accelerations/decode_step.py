"""Decode with our own step in place of generate's loop over the model's forward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from npukit.accelerations import Applied, Refused
from npukit.accelerations.decoder import Decoder
from npukit.accelerations.operators import Operators
from npukit.accelerations.step import Step
from npukit.devices.base import Device

WHY = "generate builds masks, positions and module calls anew for every token: the host is the limit"
GAIN = "MiniCPM-V-4.6: a third of the operators per token; half precision waits for no convolution"

PROBE = (3, 1, 4, 1, 5, 9)  # token ids, as far as the vocabulary goes
PROMPT = 3
# relative L2 distance of the probe's logits: rounding in float32; in half precision the two orders of
# operations differ by what a deep model makes of one rounding
LIMITS = {torch.float32: 1e-3, torch.float64: 1e-3}
HALF_LIMIT = 0.1
# what a module of another build raises when it is given what the known ones take
PROBING = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def apply(model: Any, device: Device, in_force: Mapping[str, Any]) -> Applied:
    """The decoder of ``model``, proven on it."""
    if not hasattr(torch.nn.functional, "rms_norm"):
        raise Refused(f"torch {torch.__version__} has no rms_norm (2.4 and later have)")
    with torch.no_grad():  # an inference tensor among the weights would bar other uses
        decoder = Decoder(model, Step(model, in_force.get("npu-operators", Operators())))
        try:
            distance = self_test(decoder)
        except PROBING as error:
            raise Refused(f"it fails where the original does not: {type(error).__name__}: {error}") from error
    return Applied(f"equal within {distance:.1e} on {len(PROBE) - PROMPT} probed tokens", decoder)


def self_test(decoder: Decoder) -> float:
    """The relative L2 distance of the step's logits from those of the original forward. Raises Refused."""
    model = decoder.model
    vocabulary = decoder.step.head.weight.shape[0]
    ids = torch.tensor([[i % vocabulary for i in PROBE]], device=decoder.step.head.weight.device)
    expected = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, PROMPT - 1 :].float()
    first, mask = ids[:, :PROMPT], torch.ones_like(ids[:, :PROMPT])
    seen = [decoder.prefill({"input_ids": first, "attention_mask": mask}, len(PROBE))]
    seen += [decoder.step(ids[0, i : i + 1]) for i in range(PROMPT, len(PROBE))]
    distance = float((torch.cat(seen).float() - expected).norm() / expected.norm())
    if not distance <= LIMITS.get(model.dtype, HALF_LIMIT):
        raise Refused(f"its logits differ from the original's by {distance:.2g} (relative L2)")
    return distance
