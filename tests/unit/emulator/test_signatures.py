"""The table of signatures, and the comparison that must find a wrong one."""

from __future__ import annotations

from pathlib import Path

from npukit.emulator.signatures import Mismatch, compare, expected_signatures

KINDS = {
    *("tensor", "tensors", "scalar", "scalars", "ints", "floats", "bools", "text", "dtype", "*"),
    *("bool", "int8", "uint8", "int32", "int64", "uint64", "float", "double"),
}


def test_the_table_is_whole() -> None:
    table = expected_signatures()
    assert len(table) > 880
    assert {kind for ways in table.values() for kinds in ways for kind in kinds} <= KINDS
    assert table["aclnnAdd"] == {("tensor", "tensor", "scalar", "tensor")}
    assert table["aclnnMm"] == {("tensor", "tensor", "tensor", "int8")}


def test_a_wrong_signature_is_found() -> None:
    expected = {"aclnnAdd": {("tensor", "tensor", "scalar", "tensor")}}
    right = ("tensor", "tensor", "scalar", "tensor")
    assert compare(expected, {"aclnnAdd": right}) == []
    for wrong in (right[:3], (*right, "bool"), ("tensor", "tensor", "double", "tensor")):
        assert compare(expected, {"aclnnAdd": wrong}) == [Mismatch("aclnnAdd", (right,), wrong)]


def test_one_of_several_ways_is_enough_and_null_is_anything() -> None:
    expected = {"aclnnX": {("tensor", "int64"), ("tensor", "*")}}
    assert compare(expected, {"aclnnX": ("tensor", "int64")}) == []
    assert compare(expected, {"aclnnX": ("tensor", "tensor")}) == []
    assert compare(expected, {"aclnnX": ("scalar", "int64")}) != []


def test_the_table_is_read_with_its_comments(tmp_path: Path) -> None:
    table = tmp_path / "signatures.txt"
    table.write_text("# why\naclnnA tensor\naclnnA tensor bool\n\naclnnB\n")
    assert expected_signatures(table) == {"aclnnA": {("tensor",), ("tensor", "bool")}, "aclnnB": {()}}
