"""Build the emulated CANN libraries with g++, once for each pair of torch and torch_npu.

The result lies in ``$NPUKIT_HOME/emulator/<key>``, the key being made of the sources, the versions of torch
and torch_npu and the compiler's name for itself. Objects are cached one by one: a change of one
family of operators compiles one file.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from npukit.errors import NpukitError

SOURCES = Path(__file__).parent / "src"
# Libraries that torch_npu asks the loader for; one of them has the symbols, the others only need to be there.
EMPTY_LIBRARIES = (
    "libhccl",
    "libacl_op_compiler",
    "libge_runner",
    "libgraph",
    "libacl_tdt_channel",
    "libruntime",
)
FLAGS = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w")


@dataclass(frozen=True)
class Toolchain:
    """What the libraries are built from and with."""

    compiler: str
    torch: Path
    torch_npu: Path
    versions: str  # one line that changes when the libraries must be rebuilt

    @property
    def acl_headers(self) -> str:
        return f"-I{self.torch_npu}/include/third_party/acl/inc"

    @property
    def torch_headers(self) -> list[str]:
        return [f"-I{self.torch}/include", f"-I{self.torch}/include/torch/csrc/api/include"]


def find_toolchain() -> Toolchain:
    """The compiler, torch and torch_npu of this Python; none of them is imported.

    Errors: ``emulator.no-compiler``, ``emulator.no-package``.
    """
    packages = {name: _package(name) for name in ("torch", "torch_npu")}
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise NpukitError("emulator.no-compiler")
    told = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    if told.returncode:
        raise NpukitError("emulator.no-compiler")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    versions.append(told.stdout.splitlines()[0])
    return Toolchain(compiler, packages["torch"], packages["torch_npu"], "; ".join(versions))


def build(home: Path, toolchain: Toolchain | None = None) -> Path:
    """Return the directory of the built libraries (an ``ASCEND_HOME_PATH``), building what is missing.

    ``home`` is npukit's own directory. Several processes may call this at once: one builds, the others wait.
    Errors: ``emulator.no-compiler``, ``emulator.no-package``, ``emulator.build-failed``.
    """
    tools = toolchain or find_toolchain()
    target = _target(home, tools)
    if target.is_dir():
        return target
    root = target.parent
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / "lock"):
        if not target.is_dir():
            with tempfile.TemporaryDirectory(dir=root, prefix="building-") as scratch:
                made = _build_into(Path(scratch), root / "objects", tools)
                made.rename(target)
    return target


def built(home: Path) -> Path | None:
    """What ``build`` would return without building, or None."""
    target = _target(home, find_toolchain())
    return target if target.is_dir() else None


def _target(home: Path, tools: Toolchain) -> Path:
    return home / "emulator" / _key(tools, sorted(SOURCES.rglob("*.[ch]pp")))


def _build_into(scratch: Path, objects: Path, tools: Toolchain) -> Path:
    objects.mkdir(exist_ok=True)
    runtime = sorted((SOURCES / "runtime").glob("*.cpp"))
    operators = sorted((SOURCES / "operators").glob("*.cpp"))
    made = {file: objects / f"{_key(tools, [file, *_headers(file)])}.o" for file in (*runtime, *operators)}
    light = [file for file in runtime if not made[file].exists()]
    # the biggest first, so that no processor is left alone with it at the end
    heavy = sorted(
        (file for file in operators if not made[file].exists()), key=lambda file: -file.stat().st_size
    )
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 2)) as pool:
        flags = [*FLAGS, "-O1", tools.acl_headers]
        waiting = [pool.submit(_compile, tools, flags, file, made[file], scratch) for file in light]
        if heavy:
            flags = _operator_flags(tools, scratch, operators)
            waiting += [pool.submit(_compile, tools, flags, file, made[file], scratch) for file in heavy]
        for one in waiting:
            one.result()
    home = scratch / "home"
    for name in ("lib64", "runtime", "compiler", "opp"):
        (home / name).mkdir(parents=True)
    lib = home / "lib64"
    _link(tools, lib, "libascendcl", [made[file] for file in runtime])
    for name in EMPTY_LIBRARIES:
        _link(tools, lib, name, [], f"-L{lib}", "-Wl,--no-as-needed", "-lascendcl")
    needed = (f"-L{lib}", "-lascendcl", f"-L{tools.torch}/lib", "-ltorch_cpu", "-lc10", "-ltorch")
    _link(tools, lib, "libopapi", [made[file] for file in operators], *needed)
    return home


def _operator_flags(tools: Toolchain, scratch: Path, sources: list[Path]) -> list[str]:
    """Flags for the operators' sources. ATen's headers take most of the time: those of the functions whose
    names appear in the sources are read, once, here."""
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={_cxx11_abi()}"
    flags = [*FLAGS, "-O0", abi, "-DAT_PER_OPERATOR_HEADERS", tools.acl_headers, *tools.torch_headers]
    header = scratch / "operators.hpp"
    words = set(re.findall(r"\w+", "".join(file.read_text() for file in sources)))
    words |= {form for word in words for form in (f"{word}_backward", word.rstrip("_"))}
    available = {file.stem for file in (tools.torch / "include" / "ATen" / "ops").glob("*.h")}
    functions = [f"#include <ATen/ops/{word}.h>\n" for word in sorted(words & available)]
    header.write_text("".join(functions) + f'#include "{SOURCES / "operators" / "abi.hpp"}"\n')
    _run(tools, [*flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"])
    return [*flags, "-include", str(header)]


def _compile(tools: Toolchain, flags: list[str], source: Path, made: Path, scratch: Path) -> None:
    partial = scratch / made.name
    _run(tools, [*flags, "-c", str(source), "-o", str(partial)])
    partial.replace(made)


def _link(tools: Toolchain, lib: Path, name: str, objects: list[Path], *libraries: str) -> None:
    file = lib / f"{name}.so"
    inputs = [str(made) for made in objects] or ["-x", "c++", "/dev/null", "-x", "none"]
    _run(tools, ["-shared", "-fPIC", *inputs, "-o", str(file), f"-Wl,-soname,{file.name}", *libraries])


def _run(tools: Toolchain, arguments: list[str]) -> None:
    done = subprocess.run([tools.compiler, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise NpukitError("emulator.build-failed", compiler=tools.compiler, error="\n".join(errors[:5]))


def _headers(source: Path) -> list[Path]:
    return sorted([*SOURCES.glob("*.hpp"), *source.parent.glob("*.hpp")])


def _key(tools: Toolchain, files: list[Path]) -> str:
    digest = hashlib.sha256(f"{tools.versions}\n{FLAGS}\n".encode())
    for file in files:
        digest.update(f"{file.relative_to(SOURCES)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:20]


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise NpukitError("emulator.no-package", name=name, python=sys.executable)
    return Path(next(iter(found.submodule_search_locations)))


def _cxx11_abi() -> int:
    """How this Python's torch was built; old wheels for x86 were built without the C++11 ABI."""
    asked = "import torch; print(int(torch.compiled_with_cxx11_abi()))"
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    told = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=False, env=environment
    )
    return 0 if told.stdout.strip() == "0" else 1


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
