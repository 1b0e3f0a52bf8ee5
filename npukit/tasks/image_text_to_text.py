"""Models that answer about pictures."""

from __future__ import annotations

from typing import Any

from transformers import AutoModelForImageTextToText, AutoProcessor

from npukit.errors import NpukitError
from npukit.tasks import Message
from npukit.tasks.pictures import open_picture
from npukit.tasks.video import Sampling, open_video


class ImageTextToText:
    def __init__(self, processor: Any) -> None:
        self._processor = processor

    @property
    def tokenizer(self) -> Any:
        return self._processor.tokenizer

    def auto_class(self) -> Any:
        return AutoModelForImageTextToText

    def encode(self, messages: list[Message], options: dict[str, Any]) -> dict[str, Any]:
        """``options`` go to the processor, as they go to generate (MiniCPM-V's downsample_mode must)."""
        parts = [part for message in messages for part in message["content"]]
        images = [
            open_picture(part.get("image") or part["path"]) for part in parts if part["type"] == "image"
        ]
        videos = [_frames(part) for part in parts if part["type"] == "video"]
        if videos and getattr(self._processor, "video_processor", None) is None:
            raise NpukitError("task.no-video")
        text = self._processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        if not images and not videos:
            return dict(self.tokenizer(text, return_tensors="pt", add_special_tokens=False))
        seen: dict[str, Any] = {"images": [images]} if images else {}
        if videos:
            seen.update(videos=videos, do_sample_frames=False)
        return dict(self._processor(text=[text], **seen, return_tensors="pt", **options))

    def decode(self, token_ids: list[int]) -> str:
        return self.tokenizer.decode(token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def _frames(part: dict[str, Any]) -> list[Any]:
    names = ("max_frames", "fps", "stack_frames")
    sampling = Sampling(**{name: part[name] for name in names if part.get(name) is not None})
    return open_video(part["path"], sampling).frames


def open_task(directory: str, trust_remote_code: bool) -> ImageTextToText:
    try:
        processor = AutoProcessor.from_pretrained(directory, trust_remote_code=trust_remote_code)
    except ImportError:
        # without torchvision the video part of MiniCPM-V's processor cannot be made the usual way
        from npukit.tasks.minicpmv_processor import serves, without_torchvision

        if not serves(directory):
            raise
        processor = without_torchvision(directory)
    return ImageTextToText(processor)
