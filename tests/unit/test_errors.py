"""Every code that is raised has its words, in both languages, and the fields that those words need."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import npukit
from npukit.errors import MESSAGES, ExitStatus, NpukitError, catalogue

PACKAGE = Path(npukit.__file__).parent
AREAS = sorted(path.stem for path in MESSAGES.glob("*.toml"))


def raised() -> Iterator[tuple[str, str, set[str] | None]]:
    """File, code and field names of every error made in the package; None where they are not written out."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "NpukitError":
                continue
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant):
                names = {keyword.arg for keyword in node.keywords}
                yield str(path.relative_to(PACKAGE)), str(first.value), None if None in names else names  # type: ignore[arg-type]


def placeholders(row: dict[str, dict[str, str]]) -> set[str]:
    texts = [text for part in ("what", "cause", "remedy") for text in row[part].values()]
    return {
        name.split("[")[0].split(".")[0]
        for text in texts
        for _, name, _, _ in string.Formatter().parse(text)
        if name is not None
    }


@pytest.mark.parametrize(("path", "code", "names"), list(raised()))
def test_the_code_has_words_for_these_fields(path: str, code: str, names: set[str] | None) -> None:
    area, _, name = code.partition(".")
    assert area in AREAS, f"{path} raises {code}, and there is no messages/{area}.toml"
    assert name in catalogue(area), f"{path} raises {code}, which has no words"
    if names is not None:
        needed = (
            placeholders(catalogue(area)[name]) - {"log"}
            if area == "worker"
            else placeholders(catalogue(area)[name])
        )
        assert needed <= names | {"log"}, f"{path}: {code} lacks the fields {needed - names}"


@pytest.mark.parametrize("area", AREAS)
def test_words_are_whole(area: str) -> None:
    for name, row in catalogue(area).items():
        assert "_" not in name, f"{area}.{name}: names use hyphens"
        assert row["status"] in [int(status) for status in ExitStatus], f"{area}.{name}"
        for part in ("what", "cause", "remedy"):
            assert set(row[part]) == {"en", "zh"}, f"{area}.{name}.{part}"
            assert all(text.strip() for text in row[part].values()), f"{area}.{name}.{part}"


def test_every_word_is_used() -> None:
    codes = {code for _, code, _ in raised()}
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for area in AREAS:
        for name in catalogue(area):
            code = f"{area}.{name}"
            assert code in codes or f'"{code}"' in text, f"nothing raises {code}"


def test_an_error_as_a_document() -> None:
    document = NpukitError("recipe.unreadable", path="a{b}.toml", reason="no").to_json()
    assert document["what"] == "the recipe a{b}.toml cannot be read: no"
    assert document["exit_status"] == 2
    assert document["fields"] == {"path": "a{b}.toml", "reason": "no"}
    assert NpukitError("recipe.unreadable", path="x", reason="y").to_json("zh")["what"] != document["what"]
