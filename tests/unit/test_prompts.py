"""Prompts from a file, with every fault listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.devices.name import DeviceName
from npukit.errors import NpukitError
from npukit.prompts import read_prompts
from npukit.sides import DTYPES, Side, parse_side


def test_rows_and_pictures_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    rows = [{"text": "a", "images": ["cat.png"]}, {"id": "b", "text": "b", "expect": ["x"], "system": "s"}]
    path.write_text("\n\n".join(map(json.dumps, rows)), "utf-8")
    first, second = read_prompts(path)
    assert (first.id, first.images) == ("line-1", (str(tmp_path / "cat.png"),))
    assert (second.id, second.expect, second.system) == ("b", ("x",), "s")


def test_every_fault_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    lines = ["{", "[1]", '{"txt": "a"}', '{"id": "x", "text": "a"}', '{"id": "x", "text": "b"}']
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(NpukitError) as raised:
        read_prompts(path)
    faults = raised.value.message("en").what
    for words in (
        "line 1: not JSON",
        "line 2: not a JSON object",
        "line 3: txt",
        "line 3: text: missing",
        "'x'",
    ):
        assert words in faults


@given(st.binary(max_size=60))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "p.jsonl"
    path.write_bytes(data)
    try:
        assert read_prompts(path)
    except NpukitError as error:
        assert error.code.startswith("prompts.")


def test_sides() -> None:
    assert parse_side("npu:bf16") == Side(DeviceName("npu"), "bfloat16")
    assert parse_side("npu:1:fp16") == Side(DeviceName("npu", 1), "float16")
    for dtype in set(DTYPES.values()):
        side = Side(DeviceName("cuda", 2), dtype)
        assert parse_side(str(side)) == side
