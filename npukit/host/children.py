"""Starts the scripts that may crash or hang in a child, and reads the JSON lines they leave behind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npukit.host.machine import Host, Ran


def run_child(
    host: Host, script: str, *arguments: str, limit_s: float, environ: Mapping[str, str] | None = None
) -> tuple[list[dict[str, Any]], Ran]:
    """Run child_<script>.py by its text, so that the child's import path is the one a user's program gets."""
    text = Path(__file__).with_name(f"child_{script}.py").read_text(encoding="utf-8")
    ran = host.run((host.python, "-c", text, script, *arguments), limit_s, environ)
    return [facts for facts in map(_facts, ran.stdout.splitlines()) if facts], ran


def _facts(line: str) -> dict[str, Any] | None:
    """One report; None for a line cut short by the child's death."""
    try:
        facts = json.loads(line)
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None
