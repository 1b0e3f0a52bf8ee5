"""The real command line, and one finished run that tests may copy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from npukit.cli.app import main
from tests.fixtures.torch_npu_wheel import WHEEL

MODEL = "tiny-minicpm-v"


@pytest.fixture(scope="module")
def torch_npu() -> Iterator[None]:
    """The real torch_npu, for this process's metadata and for its children; for one module of tests."""
    with pytest.MonkeyPatch.context() as patch:
        if WHEEL.is_dir():
            patch.syspath_prepend(WHEEL)
            patch.setenv("PYTHONPATH", str(WHEEL), prepend=os.pathsep)
        yield


@dataclass(frozen=True)
class Said:
    """One command's end: exit status, stdout, stderr."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout; anything else there fails."""
        return json.loads(self.out)


Npukit = Callable[..., Said]


@pytest.fixture
def npukit(capfd: pytest.CaptureFixture[str]) -> Npukit:
    """Run one command line in this process."""

    def run(*arguments: object) -> Said:
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Said(status, out, err)

    return run


@pytest.fixture(scope="session")
def finished_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of one whole run, not to be changed: take ``home_after_run`` for a copy."""
    home = tmp_path_factory.mktemp("finished")
    command = [sys.executable, "-m", "npukit", "run", MODEL, "--json", "--rounds", "3", "--warmup", "1"]
    ran = subprocess.run(
        [*command, "--out", str(home / "report")],
        env=environment(home / "home"),
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    (home / "run.json").write_text(ran.stdout, encoding="utf-8")
    return home


@pytest.fixture
def home_after_run(finished_home: Path, tmp_path: Path) -> Path:
    """$NPUKIT_HOME as a whole run leaves it; this test's own copy."""
    home = tmp_path / "home"
    shutil.copytree(finished_home / "home", home)
    return home


def environment(home: Path) -> dict[str, str]:
    """A child's environment with its own $NPUKIT_HOME."""
    return {**os.environ, "NPUKIT_HOME": str(home), "LANG": "C.UTF-8"}
