"""Both ends' messages: JSON lines over a pair of descriptors, each answering a request by its id.

    front → worker   {"id": 1, "do": "<name>", ...}   {"do": "cancel", "id": 1}   {"do": "close"}
    worker → front   {"type": "hello", ...}
                     {"id": 1, "type": "progress" | "token" | "result" | "error", ...}

Tensors go by file. Numbers that JSON does not have travel as the texts "nan", "inf" and "-inf", which float()
reads back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def encode(message: Mapping[str, Any]) -> bytes:
    """One message as one line."""
    return json.dumps(plain(message), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """Raises ValueError when the line is not a message."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a message is a JSON object")
    return message


def plain(value: Any) -> Any:
    """``value`` with every float that JSON cannot hold as its text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value
