"""How the next token is chosen and when an answer ends. Pure: both ends of the worker's wire use it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from npukit.errors import NpukitError


@dataclass(frozen=True)
class Decoding:
    """None leaves a choice to the model's generation_config; ``greedy`` overrules sampling.

    ``stop`` are texts that end an answer and are not part of it.
    """

    max_new_tokens: int = 1024
    min_new_tokens: int | None = None
    greedy: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, (_, good, allowed) in SETTINGS.items():
            value = getattr(self, name)
            if value is not None and not good(value):
                raise NpukitError("generate.bad-setting", name=name, value=value, allowed=allowed)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Decoding:
        return cls(**{**fields, "stop": tuple(fields.get("stop", ()))})

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def changed(self, name: str, text: str) -> Decoding:
        """With one setting as a user types it; ``default`` gives it back to the model."""
        if name not in SETTINGS:
            known = ", ".join(SETTINGS)
            raise NpukitError("generate.unknown-setting", name=name, known=known)
        read, _, allowed = SETTINGS[name]
        default: Any = next(f.default for f in dataclasses.fields(self) if f.name == name)
        try:
            value = default if text == "default" else read(text)
        except (ValueError, KeyError) as error:
            raise NpukitError("generate.bad-setting", name=name, value=text, allowed=allowed) from error
        changes: dict[str, Any] = {name: value}
        return dataclasses.replace(self, **changes)

    def arguments(self) -> dict[str, Any]:
        """The arguments of transformers' generate that choose tokens; temperature 0 means greedy."""
        if self.greedy or self.temperature == 0:
            return {"do_sample": False}
        names = ("temperature", "top_p", "top_k")
        asked = {name: value for name in names if (value := getattr(self, name)) is not None}
        return {"do_sample": True, **asked} if asked else {}


def _switch(text: str) -> bool:
    return {"on": True, "true": True, "off": False, "false": False}[text.lower()]


Reader = Callable[[str], Any]
Judge = Callable[[Any], bool]
SETTINGS: dict[str, tuple[Reader, Judge, str]] = {
    "max_new_tokens": (int, lambda n: n >= 1, "at least 1"),
    "min_new_tokens": (int, lambda n: n >= 0, "at least 0"),
    "greedy": (_switch, lambda on: isinstance(on, bool), "on or off"),
    "temperature": (float, lambda t: 0 <= t <= 100, "0 to 100; 0 is greedy"),
    "top_p": (float, lambda p: 0 < p <= 1, "above 0, at most 1"),
    "top_k": (int, lambda k: k >= 1, "at least 1"),
    "repetition_penalty": (float, lambda r: 0 < r <= 100, "above 0, at most 100; 1 is none"),
    "seed": (int, lambda s: 0 <= s < 2**63, "a whole number"),
    "stop": (lambda text: (text,), lambda stop: all(stop), "text"),
}

GREEDY = Decoding(greedy=True)
