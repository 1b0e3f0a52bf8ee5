"""``npukit explain``: files, standard input and codes in, findings out."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.integration.conftest import Npukit

FAILING = Path(__file__).parents[1] / "fixtures" / "logs" / "failing"
ORDINARY = Path(__file__).parents[1] / "fixtures" / "logs" / "ordinary"


class Stdin(io.TextIOWrapper):
    """Standard input with these bytes; a terminal if ``terminal``."""

    def __init__(self, data: bytes = b"", terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_a_file_is_explained_in_one_document(npukit: Npukit) -> None:
    said = npukit("explain", FAILING / "autoload.txt", "--json", "--lang", "en")
    assert said.status == 0
    first, second = said.document["findings"]
    assert (first["id"], first["rank"], first["line"]) == ("libraries.hccl-missing", 1, 4)
    assert "set_env.sh" in first["remedy"] and first["sources"]
    assert (second["id"], second["role"]) == ("libraries.autoload", "wrapper")
    assert said.document["unknown"] is None


def test_a_person_reads_cause_remedy_and_sources(npukit: Npukit) -> None:
    said = npukit("explain", FAILING / "capture.txt", "--lang", "en")
    assert said.status == 0
    assert said.out.startswith("1. The card has no streams or events left")
    for part in ("fatal · confirmed", "cudagraph_capture_sizes", "https://github.com/", "not the cause"):
        assert part in said.out
    assert "\x1b" not in said.out


def test_chinese(npukit: Npukit) -> None:
    said = npukit("explain", FAILING / "cast.txt", "--lang", "zh")
    assert "此处不支持 bfloat16" in said.out and "致命 · 已确认" in said.out


@pytest.mark.parametrize("arguments", [["-"], []])
def test_standard_input(npukit: Npukit, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin((FAILING / "plog.txt").read_bytes()))
    said = npukit("explain", *arguments, "--json")
    assert said.document["findings"][0]["id"] == "runtime.aicpu"


@pytest.mark.parametrize("code", ["507011", "EZ9999", "ERR01004", "500001"])
def test_a_code_alone(npukit: Npukit, code: str) -> None:
    said = npukit("explain", code, "--json")
    assert said.status == 0
    assert said.document["findings"]


def test_what_is_not_known_is_said(npukit: Npukit, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("Traceback (most recent call last):\nshop.PriceError: no price\n", encoding="utf-8")
    said = npukit("explain", log, "--json", "--lang", "en")
    assert said.status == 0
    assert said.document["findings"] == []
    assert said.document["unknown"]["suspects"] == [{"line": 2, "text": "shop.PriceError: no price"}]
    shown = npukit("explain", log, "--lang", "en").out
    assert "does not know this failure" in shown and "npukit env --json" in shown


def test_an_ordinary_log(npukit: Npukit) -> None:
    said = npukit("explain", ORDINARY / "pip-install.txt", "--json")
    assert said.document["findings"] == []
    assert said.document["unknown"]["collect"] == []


def test_a_missing_file(npukit: Npukit, tmp_path: Path) -> None:
    said = npukit("explain", tmp_path / "none.log", "--json", "--lang", "en")
    assert (said.status, said.document["error"]["code"]) == (2, "explain.missing")
    assert "plog" in said.document["error"]["remedy"]


def test_a_directory(npukit: Npukit, tmp_path: Path) -> None:
    said = npukit("explain", tmp_path, "--json")
    assert (said.status, said.document["error"]["code"]) == (2, "explain.unreadable")


def test_nothing_to_read(npukit: Npukit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(terminal=True))
    said = npukit("explain", "--json")
    assert (said.status, said.document["error"]["code"]) == (2, "explain.nothing")


def test_a_message_given_instead_of_a_file_is_explained(npukit: Npukit) -> None:
    said = npukit("explain", "RuntimeError: NPU out of memory. Tried to allocate 2 GiB", "--json")
    assert said.document["findings"][0]["id"] == "memory.npu-out-of-memory"
    long = npukit("explain", "NPU out of memory. Tried to allocate " + "x" * 5000, "--json")
    assert long.document["findings"][0]["id"] == "memory.npu-out-of-memory"


@pytest.mark.parametrize(
    ("log", "error"), [("", "explain.nothing"), ("999999", "explain.missing"), ("a\0b", "explain.unreadable")]
)
def test_what_is_neither_a_file_nor_known_is_told(npukit: Npukit, log: str, error: str) -> None:
    said = npukit("explain", log, "--json")
    assert (said.status, said.document["error"]["code"]) == (2, error)
