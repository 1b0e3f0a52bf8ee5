"""``--help`` answers at once: no torch, no transformers, in any pure command."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from npukit.cli.app import COMMANDS, EXAMPLES, main

PROBE = """
import sys
from npukit.cli.app import main
status = main({arguments!r})
slow = ("torch", "transformers", "modelscope", "numpy", "pydantic")
heavy = sorted(module for module in sys.modules if module.split(".")[0] in slow)
sys.stderr.write(f"heavy: {{heavy}}")
sys.exit(status)
"""
PURE = [["--help"], ["--version"], [], ["recipes"], ["recipes", "check"], ["show"]]


@pytest.mark.parametrize(
    "arguments",
    [*PURE, *([name, "--help"] for name in COMMANDS)],
    ids=lambda words: " ".join(words) or "alone",
)
def test_without_torch(arguments: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROBE.format(arguments=arguments)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.endswith("heavy: []")
    assert ran.stdout.strip()


@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_whose_options_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(EXAMPLES[name].rpartition("|")[2])
    assert words[:2] == ["npukit", name]
    assert main([name, *(["new"] if name == "recipes" else []), "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in words if word.startswith("--"))
