"""The decode step with torch_npu's own operators on the emulated NPU: one JSON line for each dtype.

Run by test_emulated_decoding.py. The model has the depth of MiniCPM-V-4.6's text part, and no more than that.
"""

from __future__ import annotations

import json

import torch
import transformers

from npukit.accelerations import accelerate, wanted
from npukit.devices.base import open_device
from npukit.devices.name import DeviceName
from tests.benchmarks.decode import dispatches, own_generate, plain_generate
from tests.fixtures import decoder_models
from tests.fixtures.decoder_models import Listener, build, prompt

NEW = 20


def main() -> None:
    transformers.utils.logging.set_verbosity_error()
    device = open_device(DeviceName("npu", 0))
    decoder_models.MODELS["deep hybrid"] = lambda: decoder_models.hybrid(2, layers=24)
    for dtype in (torch.float32, torch.bfloat16):
        with device.precision("strict"):
            model = build("deep hybrid", dtype).to(device.torch_device)
            inputs = {name: value.to(device.torch_device) for name, value in prompt().items()}
            plain = model.generate(**inputs, do_sample=False, max_new_tokens=NEW)
            before = dispatches(plain_generate, model, inputs["input_ids"])
            outcomes, decoder = accelerate(model, wanted(["auto"]), device)
            with torch.inference_mode():
                own = decoder.generate(inputs, max_new_tokens=NEW, min_new_tokens=None, watch=Listener())
            seen = {
                "dtype": str(dtype),
                "outcomes": {outcome.name: outcome.reason for outcome in outcomes if outcome.used},
                "same": torch.equal(plain, own),
                "plain": before,
                "own": dispatches(own_generate, decoder, inputs["input_ids"]),
            }
        print(json.dumps(seen), flush=True)


main()
