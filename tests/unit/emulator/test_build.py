"""The build's cache and its errors, with a stand-in for the compiler."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from npukit.emulator import build as building
from npukit.emulator.build import Toolchain, build, find_toolchain
from npukit.errors import ExitStatus, NpukitError

COMPILER = """#!{python}
import pathlib, sys
arguments = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(" ".join(arguments) + "\\n")
if pathlib.Path({broken!r}).exists():
    sys.exit("x.cpp:1: error: expected ';'")
pathlib.Path(arguments[arguments.index("-o") + 1]).write_text("made")
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    monkeypatch.setattr(building, "_cxx11_abi", lambda: 1)
    monkeypatch.setattr(building, "SOURCES", tmp_path / "src")
    for name in ("emulator.hpp", "operators/abi.hpp", "operators/a.cpp", "operators/b.cpp", "runtime/m.cpp"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(f"// {name}\n")
    compiler = tmp_path / "g++"
    text = COMPILER.format(python=sys.executable, log=str(tmp_path / "log"), broken=str(tmp_path / "broken"))
    compiler.write_text(text)
    compiler.chmod(0o755)
    return Toolchain(
        str(compiler), Path("/torch"), Path("/torch_npu"), "torch 2.13.0; torch_npu 2.13.0; g++ 12"
    )


def runs(tmp_path: Path) -> list[str]:
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


def test_it_builds_once(tools: Toolchain, tmp_path: Path) -> None:
    first = build(tmp_path, tools)
    built = len(runs(tmp_path))
    assert {file.name for file in (first / "lib64").iterdir()} >= {
        "libascendcl.so",
        "libopapi.so",
        "libhccl.so",
    }
    assert {"runtime", "compiler", "opp"} <= {file.name for file in first.iterdir()}
    assert build(tmp_path, tools) == first
    assert len(runs(tmp_path)) == built
    assert not list((tmp_path / "emulator").glob("building-*"))


def test_other_versions_are_another_build(tools: Toolchain, tmp_path: Path) -> None:
    other = Toolchain(tools.compiler, tools.torch, tools.torch_npu, tools.versions.replace("2.13", "2.14"))
    assert build(tmp_path, tools) != build(tmp_path, other)


def test_one_changed_family_compiles_alone(tools: Toolchain, tmp_path: Path) -> None:
    sources = tmp_path / "src"
    build(tmp_path, tools)
    before = len(runs(tmp_path))
    (sources / "operators" / "b.cpp").write_text("// changed\n")
    build(tmp_path, tools)
    compiled = [line for line in runs(tmp_path)[before:] if " -c " in line]
    assert len(compiled) == 1 and "operators/b.cpp" in compiled[0]
    before = len(runs(tmp_path))
    (sources / "operators" / "abi.hpp").write_text("// changed\n")
    build(tmp_path, tools)
    assert sum(" -c " in line for line in runs(tmp_path)[before:]) == 2


def test_a_failed_build_tells_why_and_leaves_nothing(tools: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    with pytest.raises(NpukitError) as failed:
        build(tmp_path, tools)
    message = failed.value.message()
    assert failed.value.code == "emulator.build-failed" and message.status == ExitStatus.ENVIRONMENT
    assert "expected ';'" in message.cause
    (tmp_path / "broken").unlink()
    assert build(tmp_path, tools).is_dir()


def test_no_compiler_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_package", lambda name: Path("/" + name))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NpukitError) as failed:
        find_toolchain()
    assert failed.value.code == "emulator.no-compiler"
    assert "g++" in failed.value.message().remedy


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(NpukitError) as failed:
        find_toolchain()
    assert failed.value.code == "emulator.no-package"
    assert "torch" in failed.value.message().what
