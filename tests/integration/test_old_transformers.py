"""On transformers 4.57.6, as pods have it: patched, verified, the environment left byte by byte as it was."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npukit.recipe import BUILTIN_RECIPES
from tests.fixtures.minimind import write_minimind
from tests.fixtures.nanowhale import write_checkpoint
from tests.integration.test_patch import failed, recipe

pytestmark = pytest.mark.slow

OLD = ("transformers==4.57.6", "huggingface_hub==0.36.2", "tokenizers==0.22.2")
ROOT = Path(__file__).parents[2]
Npukit = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The old packages in front of this environment's own; torch and all else are shared with it."""
    directory = tmp_path_factory.mktemp("old")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(directory),
        *OLD,
    ]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"{', '.join(OLD)} cannot be installed here: {installed.stderr.splitlines()[-1]}")
    return directory


@pytest.fixture
def environment(old: Path, tmp_path: Path) -> dict[str, str]:
    """Python sees the old packages first, then npukit."""
    path = os.pathsep.join([str(old), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "NPUKIT_HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"}


@pytest.fixture
def npukit(environment: dict[str, str], tmp_path: Path) -> Npukit:
    def run(*arguments: str | Path, **more: str) -> tuple[int, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "npukit", *map(str, arguments), "--json"],
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return run


def python(code: str, environment: dict[str, str]) -> str:
    """The last line that ``code`` prints, or that its traceback ends with."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    return [line for line in (done.stdout or done.stderr).splitlines() if line.strip()][-1]


def fingerprint(old: Path) -> str:
    """Content of the old packages, and names, sizes and times of everything in the environment below them."""
    digest = hashlib.sha256()
    for path in sorted(old.rglob("*")):
        if path.is_file():
            digest.update(f"{path} ".encode() + path.read_bytes())
    for path in sorted(Path(sys.prefix).rglob("*")):
        if path.suffix != ".pyc" and path.name != "__pycache__":
            stat = path.lstat()
            digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}".encode())
    return digest.hexdigest()


def test_a_model_of_a_newer_transformers_runs_through_a_sandbox(
    old: Path, environment: dict[str, str], npukit: Npukit, tmp_path: Path
) -> None:
    text = (BUILTIN_RECIPES / "tiny-minicpm-v.toml").read_text()
    needy = tmp_path / "tiny.toml"
    exactly = 'requires = ["transformers==5.7.0", "huggingface_hub>=1.5,<2.0"]'
    needy.write_text(text.replace('requires = ["transformers>=5.7"]', exactly))
    assert exactly in needy.read_text()
    unknown = "from transformers import AutoConfig; AutoConfig.for_model('minicpmv4_6')"
    assert "Unrecognized model identifier: minicpmv4_6" in python(unknown, environment)
    before = fingerprint(old)
    status, document = npukit("patch", needy)
    assert (status, document["measured"]["transformers"]) == (0, "5.7.0")
    assert {"transformers", "huggingface-hub"} <= set(document["measured"]["packages"])
    assert not {"torch", "numpy"} & set(document["measured"]["packages"])
    status, document = npukit("verify", needy, "--device", "cpu", "--strict")
    assert status == 0, document
    assert document["environment"]["transformers"] == "5.7.0"
    assert fingerprint(old) == before
    sandbox = npukit("patch", needy)[1]["measured"]["sandbox"]
    child = f"import sys; sys.path.insert(0, {sandbox!r}); {unknown}; print('known')"
    assert python(child, environment) == "known"


def test_minimind_is_read_as_it_was_saved(
    environment: dict[str, str], npukit: Npukit, tmp_path: Path
) -> None:
    """TokenizersBackend is unknown to 4.57.6, and the rotary base would silently be its own default."""
    source = write_minimind(tmp_path / "minimind")
    tokenizer = f"import transformers; transformers.AutoTokenizer.from_pretrained({str(source)!r})"
    assert python(tokenizer, environment) == (
        "ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported."
    )
    theta = f"import transformers; print(transformers.AutoConfig.from_pretrained({str(source)!r}).rope_theta)"
    assert python(theta, environment) == "10000.0"
    same_answer_everywhere(recipe(source), npukit, {"tokenizer-class", "rope-keys"})


def test_own_code_computes_the_same_in_both(npukit: Npukit, tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "nano-published")
    trusting = recipe(source, "trust_remote_code = true")
    same_answer_everywhere(trusting, npukit, {"tokenizer-class"}, "--trust-remote-code")


def same_answer_everywhere(path: Path, npukit: Npukit, needed: set[str], *options: str) -> None:
    """Patched for 4.57.6, the model answers as it does in this environment's own transformers."""
    status, document = npukit("patch", path, *options)
    assert (status, document["measured"]["transformers"]) == (0, "4.57.6")
    assert {row["name"] for row in document["measured"]["patches"] if row["acts"]} == needed
    here = {"PYTHONPATH": str(ROOT), "NPUKIT_HOME": str(path.parent / "here")}
    assert npukit("patch", path, *options, **here)[0] == 0
    answers = []
    for more in ({}, here):
        _, document = npukit("verify", path, "--device", "cpu", **more)
        assert failed(document) == {"quality.known"}, "the weights are random, and nothing else is wrong"
        answers.append(document["measured"]["answers"][0]["token_ids"])
    assert answers[0] == answers[1]
