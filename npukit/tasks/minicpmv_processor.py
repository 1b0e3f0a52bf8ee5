"""MiniCPM-V-4.6's processor where torchvision is missing.

AutoProcessor raises ImportError there for the video processor, and the processor's own class check refuses
the Pillow image processor; built by hand, with that check left out, the same parts work (transformers 5.7 to
5.24).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
from transformers import AutoTokenizer


def serves(directory: str) -> bool:
    """Whether the model in ``directory`` is of MiniCPM-V-4.6's kind."""
    config = json.loads(Path(directory, "config.json").read_text(encoding="utf-8"))
    return config.get("model_type") == "minicpmv4_6"


def without_torchvision(directory: str) -> Any:
    """The processor of the model in ``directory``, pictures through Pillow."""
    from transformers import MiniCPMV4_6ImageProcessorPil, MiniCPMV4_6Processor
    from transformers.models.minicpmv4_6.video_processing_minicpmv4_6 import MiniCPMV4_6VideoProcessor

    class FramesThroughPillow(MiniCPMV4_6VideoProcessor):
        """Frames are prepared as pictures are, each in one slice; only the names differ."""

        images: Any

        def __call__(self, videos: Any, **options: Any) -> Any:  # type: ignore[override]
            mode = options.get("downsample_mode") or self.downsample_mode
            frames = [frame for video in videos for frame in video]
            made = self.images(
                frames, downsample_mode=mode, max_slice_nums=self.max_slice_nums, return_tensors="pt"
            )
            return {
                "pixel_values_videos": made["pixel_values"],
                "target_sizes_videos": made["target_sizes"],
                "grids_videos": numpy.asarray(made["grids"]).reshape(-1, 2),
                "num_patches_per_frame": made["num_patches_per_image"],
                "num_frames_per_video": [len(video) for video in videos],
            }

    class Processor(MiniCPMV4_6Processor):
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> None:
            return None

    Processor.__name__ = Processor.__qualname__ = "MiniCPMV4_6Processor"
    tokenizer = AutoTokenizer.from_pretrained(directory)
    images = MiniCPMV4_6ImageProcessorPil(**_settings(directory))
    videos = FramesThroughPillow(
        scale_resolution=images.scale_resolution, patch_size=images.patch_size, max_slice_nums=1
    )
    videos.images = images
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
