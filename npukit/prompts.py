"""Prompts from a file: one JSON object a line, with the fields of a recipe's ``[[prompts]]``.

    {"id": "capital", "text": "The capital of France is", "expect": ["Paris"]}
    {"text": "What is this?", "images": ["cat.png"]}

``id`` may be left out (line-1, line-2, ...); pictures are looked for beside the file.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from npukit.errors import NpukitError
from npukit.recipe import Prompt
from npukit.strict import read_table


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Raises NpukitError ``prompts.*`` with every fault listed."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise NpukitError("prompts.unreadable", path=str(path), reason=str(error)) from error
    faults: list[str] = []
    prompts: list[Prompt] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            faults.append(f"line {number}: not JSON: {error}")
            continue
        if not isinstance(row, dict):
            faults.append(f"line {number}: not a JSON object")
            continue
        before = len(faults)
        prompt = read_table(Prompt, {"id": f"line-{number}", **row}, f"line {number}: ", faults)
        if len(faults) == before:
            beside = tuple(str((path.parent / name).resolve()) for name in prompt.images)
            prompts.append(dataclasses.replace(prompt, images=beside))
    ids = [prompt.id for prompt in prompts]
    faults += [f"the id {one!r} is used twice" for one in sorted({one for one in ids if ids.count(one) > 1})]
    if not prompts and not faults:
        faults.append("no prompt in it")
    if faults:
        raise NpukitError("prompts.faults", path=str(path), faults="\n".join(f"  - {one}" for one in faults))
    return tuple(prompts)
