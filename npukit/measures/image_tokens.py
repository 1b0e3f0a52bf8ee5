"""Image tokens in the prompt against vision features, for shapes and modes that models get wrong."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from npukit.session import Session

# width and height in pixels; the last is large enough to be cut into slices
SHAPES = {"square": (112, 112), "wide": (224, 84), "tall": (84, 224), "sliced": (672, 448)}


def measure_image_tokens(session: Session, options: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Rows of mode, shape, tokens and features; None for a model without ``get_image_features``."""
    inner = getattr(session.model, "model", session.model)  # the outer class passes anything on
    features = getattr(inner, "get_image_features", None)
    token = getattr(session.config, "image_token_id", None)
    if features is None or token is None:
        return None
    modes = ("16x", "4x") if "downsample_mode" in inspect.signature(features).parameters else ("",)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for shape, (width, height) in SHAPES.items():
            path = Path(folder, f"{shape}.png")
            _picture(width, height).save(path)
            for mode in modes:
                chosen = {**options, **({"downsample_mode": mode} if mode else {})}
                inputs = session.encode(_message(path), chosen)
                tokens = int((inputs["input_ids"] == token).sum())
                rows.append(
                    {
                        "mode": mode,
                        "shape": shape,
                        "tokens": tokens,
                        "features": _count(features, inputs, chosen),
                    }
                )
    return rows


def _message(path: Path) -> list[dict[str, Any]]:
    content = [{"type": "image", "path": str(path)}, {"type": "text", "text": "?"}]
    return [{"role": "user", "content": content}]


def _picture(width: int, height: int) -> Image.Image:
    """A gradient: no two places alike."""
    across = torch.linspace(0, 255, width).expand(height, width)
    down = torch.linspace(0, 255, height)[:, None].expand(height, width)
    pixels = torch.stack([across, down, (across + down) / 2], -1).to(torch.uint8)
    return Image.fromarray(pixels.numpy())


@torch.inference_mode()
def _count(features: Any, inputs: dict[str, Any], options: dict[str, Any]) -> int:
    wanted = inspect.signature(features).parameters
    given = {name: value for name, value in {**inputs, **options}.items() if name in wanted}
    output = features(**given)
    return _rows(getattr(output, "pooler_output", output))


def _rows(value: Any) -> int:
    """Feature vectors in a tensor (..., hidden) or in a list of such tensors."""
    if isinstance(value, torch.Tensor):
        return value.numel() // value.shape[-1]
    return sum(_rows(one) for one in value)
