"""MiniCPM-V-4.6's processor where torchvision is missing.

AutoProcessor raises ImportError there for the video processor, and the processor's own class check refuses
the Pillow image processor; built by hand, with that check left out, the same parts work (transformers 5.7 to
5.24).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer


def serves(directory: str) -> bool:
    """Whether the model in ``directory`` is of MiniCPM-V-4.6's kind."""
    config = json.loads(Path(directory, "config.json").read_text(encoding="utf-8"))
    return config.get("model_type") == "minicpmv4_6"


def without_torchvision(directory: str) -> Any:
    """The processor of the model in ``directory``, pictures through Pillow."""
    from transformers import MiniCPMV4_6ImageProcessorPil, MiniCPMV4_6Processor
    from transformers.models.minicpmv4_6.video_processing_minicpmv4_6 import MiniCPMV4_6VideoProcessor

    class Processor(MiniCPMV4_6Processor):
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> None:
            return None

    Processor.__name__ = Processor.__qualname__ = "MiniCPMV4_6Processor"
    tokenizer = AutoTokenizer.from_pretrained(directory)
    images = MiniCPMV4_6ImageProcessorPil(**_settings(directory))
    videos = MiniCPMV4_6VideoProcessor(
        scale_resolution=images.scale_resolution, patch_size=images.patch_size, max_slice_nums=1
    )
    return Processor(
        image_processor=images,
        video_processor=videos,
        tokenizer=tokenizer,
        chat_template=tokenizer.chat_template,
    )


def _settings(directory: str) -> dict[str, Any]:
    for name in ("processor_config.json", "preprocessor_config.json"):
        path = Path(directory, name)
        if path.is_file():
            document = json.loads(path.read_text(encoding="utf-8"))
            settings = document.get("image_processor", document)
            return {key: value for key, value in settings.items() if not key.endswith(("_type", "_class"))}
    return {}
