"""``--json`` is exactly one document on stdout, on every command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npukit.builtin import picture
from npukit.cli.output import guarded_stdout, write_document
from tests.integration.conftest import MODEL, Npukit

COMMANDS = {
    "fetch": ["fetch", MODEL],
    "patch": ["patch", MODEL],
    "verify": ["verify", MODEL],
    "accuracy": ["accuracy", MODEL],
    "bench": ["bench", MODEL, "--rounds", "3", "--warmup", "1"],
    "chat": ["chat", MODEL, "--image", str(picture()), "--question", "How many animals?"],
    "run": ["run", MODEL, "--rounds", "3", "--warmup", "1", "--out", "{tmp}/report"],
    "show": ["show", MODEL],
    "show all": ["show"],
    "report": ["report", MODEL, "--out", "{tmp}/report"],
    "recipes": ["recipes"],
    "recipes show": ["recipes", "show", MODEL],
    "recipes check": ["recipes", "check"],
    "recipes copy": ["recipes", "copy", MODEL, "{tmp}/mine.toml"],
    "recipes new": ["recipes", "new", "hf:Qwen/Qwen3-0.6B", "{tmp}/new.toml"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_one_document(name: str, home_after_run: Path, npukit: Npukit, tmp_path: Path) -> None:
    arguments = [part.format(tmp=tmp_path) for part in COMMANDS[name]]
    said = npukit(*arguments, "--json")
    assert said.status == 0, said.err
    assert isinstance(said.document, dict)
    assert "error" not in said.document


def test_what_others_print_on_descriptor_1_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with guarded_stdout(True):
        os.write(1, b"a C library\n")
        os.system("echo a child")
        write_document({"a": 1})
    out, err = capfd.readouterr()
    assert out == '{\n  "a": 1\n}\n'
    assert "a C library" in err
    assert "a child" in err
