"""What the README shows is run, and what there is stands in the README."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from npukit.builtin import picture
from npukit.cli.app import COMMANDS
from npukit.errors import ExitStatus
from npukit.recipe import recipe_files
from tests.integration.conftest import Npukit

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
# tried by tests of their own: one never ends, the others need the real torch_npu
ELSEWHERE = ("npukit serve", "npukit rehearse", "npukit ops")
NEEDS_A_HUB = ("npukit run ./Qwen", "npukit report ./Qwen")


def shown() -> list[str]:
    """The npukit commands of the console blocks, in order."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("npukit ")]
    return [line for line in lines if not line.startswith(NEEDS_A_HUB)]


def test_the_commands_shown_work(
    home_after_run: Path, npukit: Npukit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(picture("two-cats.png"), "two-cats.png")
    Path("error.log").write_text(
        "ImportError: libhccl.so: cannot open shared object file\n", encoding="utf-8"
    )
    commands = shown()
    assert len(commands) >= 10
    for line in commands:
        if line.startswith(ELSEWHERE):
            continue
        said = npukit(*shlex.split(line, comments=True)[1:])
        assert said.status == 0, f"{line}\n{said.err}"


def test_the_python_shown_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(picture("two-cats.png"), "two-cats.png")
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith("two ")
    assert said.endswith("hello")


def test_every_command_is_shown() -> None:
    text = "\n".join(shown())
    assert {name for name in COMMANDS if f"npukit {name}" not in text} == set()


def test_every_exit_status_is_listed() -> None:
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert listed == {int(status) for status in ExitStatus}


def test_every_recipe_is_listed() -> None:
    assert {name for name in recipe_files() if f"`{name}`" not in README} == set()
