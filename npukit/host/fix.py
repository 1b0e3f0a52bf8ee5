"""The safe steps of `npukit env --fix`: create directories, write a file to source. No more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npukit.host.verdict import Verdict
from npukit.workspace import write_atomic

HEADER = "# Written by `npukit env --fix`; source it:  . {path}\n"


@dataclass(frozen=True)
class Fixed:
    """``refused`` are directories that could not be made; ``env_file`` is "" when nothing was to write."""

    created: tuple[str, ...]
    refused: tuple[str, ...]
    env_file: str
    lines: tuple[str, ...]
    left: tuple[str, ...]


def fix(verdicts: Sequence[Verdict], env_file: Path) -> Fixed:
    """Take every safe step; ``left`` names the findings that a person must see to."""
    steps = dict.fromkeys(step for verdict in verdicts for step in verdict.fixes)
    lines = [step.text for step in steps if step.kind == "line"]
    lines.sort(
        key=lambda line: not line.startswith("source ")
    )  # set_env.sh first: later lines correct what it sets
    created: list[str] = []
    refused: list[str] = []
    for path in (step.text for step in steps if step.kind == "mkdir"):
        (created if _made(path) else refused).append(path)
    if lines:
        text = HEADER.format(path=env_file) + "\n".join(lines) + "\n"
        write_atomic(env_file, text.encode())
    left = [verdict.id for verdict in verdicts if verdict.level in ("warn", "fail") and not verdict.fixes]
    written = str(env_file) if lines else ""
    return Fixed(tuple(created), tuple(refused), written, tuple(lines), tuple(left))


def _made(path: str) -> bool:
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return True
