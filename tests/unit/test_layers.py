"""Imports point one way, and torch stays on the worker's side."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import npukit

PACKAGE = Path(npukit.__file__).parent
HEAVY = {"torch", "transformers", "torch_npu"}
WORKERS_SIDE = (
    "measures/",
    "session.py",
    "registration.py",
    "tasks/",
    "devices/cpu.py",
    "devices/cuda.py",
    "devices/npu.py",
    "accelerations/",
    "capture.py",
    "compare.py",
    "worker/main.py",
    "worker/context.py",
    "builtin/",
)
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def imports(path: str, *, at_load: bool) -> Iterator[str]:
    """Modules that a file imports; ``at_load`` leaves out those inside functions and TYPE_CHECKING blocks."""
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    nodes = _at_load(tree.body) if at_load else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _at_load(body: list[ast.stmt]) -> list[ast.AST]:
    found: list[ast.AST] = []
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            found += [] if guarded else _at_load(node.body)
        elif isinstance(node, ast.ClassDef):
            found += _at_load(node.body)
        else:
            found.append(node)
    return [node for node in found if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


@pytest.mark.parametrize("path", FILES)
def test_only_the_workers_side_imports_torch(path: str) -> None:
    if path.startswith(WORKERS_SIDE):
        return
    heavy = {module for module in imports(path, at_load=True) if module.split(".")[0] in HEAVY}
    assert not heavy


@pytest.mark.parametrize("path", FILES)
def test_only_the_command_line_knows_typer_and_rich(path: str) -> None:
    shown = {module for module in imports(path, at_load=False) if module.split(".")[0] in ("typer", "rich")}
    assert not shown or path.startswith("cli/")


@pytest.mark.parametrize("path", [path for path in FILES if not path.startswith("cli/")])
def test_nothing_below_imports_the_command_line(path: str) -> None:
    above = {module for module in imports(path, at_load=False) if module.startswith("npukit.cli")}
    assert not above or path == "__main__.py"


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.startswith(("measures/", "tasks/", "devices/"))]
)
def test_the_workers_side_knows_nothing_of_the_front(path: str) -> None:
    front = ("npukit.pipeline", "npukit.stages", "npukit.worker.client", "npukit.worker.pool", "npukit.cli")
    assert not {module for module in imports(path, at_load=False) if module.startswith(front)}
