import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.proof.headers import BITS, HeaderError, read_header


def write(path, header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def row(dtype="F32", shape=(2, 2), offsets=(0, 16)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_a_whole_file_gives_its_tensors_in_order_of_bytes(tmp_path):
    header = {"__metadata__": {"format": "pt"}, "b": row(offsets=(16, 32)), "a": row()}
    tensors = read_header(write(tmp_path / "x", header, bytes(32)))
    assert [t.name for t in tensors] == ["a", "b"]
    assert [t.parameters for t in tensors] == [4, 4]
    assert tensors[1].end == (tmp_path / "x").stat().st_size


@pytest.mark.parametrize(
    ("header", "data", "says"),
    [
        ({"a": row()}, bytes(15), "truncated: 1 bytes"),
        ({"a": row()}, bytes(17), "after the last tensor"),
        ({"a": row(), "b": row(offsets=(12, 28))}, bytes(28), "overlaps"),
        ({"a": row(), "b": row(offsets=(20, 36))}, bytes(36), "belong to no tensor"),
        ({"a": row(shape=(2, 3))}, bytes(16), "takes 24 bytes"),
        ({"a": row("F33")}, bytes(16), "unknown dtype"),
        ({"a": row(shape=(-1, 4))}, bytes(16), "malformed"),
        ({"a": 3}, b"", "not a tensor's row"),
        ([1], b"", "not a JSON object"),
        (b"{", b"", "not JSON"),
        (b"[" * 100_000, b"", "not JSON"),
        (b'{"a": 1, "a": 1}', b"", "twice"),
    ],
)
def test_every_fault_is_named(tmp_path, header, data, says):
    with pytest.raises(HeaderError, match=says):
        read_header(write(tmp_path / "x", header, data))


def test_a_header_longer_than_the_file_is_not_read(tmp_path):
    (tmp_path / "x").write_bytes(struct.pack("<Q", 1 << 40) + b"{}")
    with pytest.raises(HeaderError, match="claimed"):
        read_header(tmp_path / "x")


@given(st.binary(max_size=200))
def test_any_bytes_give_tensors_or_a_header_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    try:
        tensors = read_header(path)
    except HeaderError:
        return
    assert sum(t.end - t.begin for t in tensors) <= len(data)


@given(
    st.lists(st.tuples(st.sampled_from(sorted(BITS)), st.lists(st.integers(0, 8), max_size=3)), max_size=6),
    st.integers(1, 40),
)
def test_layouts_round_trip_and_any_cut_is_found(tmp_path_factory, layout, cut):
    header, at = {}, 0
    for index, (dtype, shape) in enumerate(layout):
        count = 1
        for n in (*shape, 8):  # a multiple of 8, so that 4 and 6 bit types fill whole bytes
            count *= n
        size = count * BITS[dtype] // 8
        header[f"t{index}"] = row(dtype, (*shape, 8), (at, at + size))
        at += size
    path = write(tmp_path_factory.getbasetemp() / "layout", header, bytes(at))
    assert len(read_header(path)) == len(layout)
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.truncate(max(0, size - cut))
    with pytest.raises(HeaderError):
        read_header(path)


def test_safetensors_own_writer_is_read(tmp_path):
    numpy = pytest.importorskip("numpy")
    from safetensors.numpy import save_file

    save_file(
        {"x": numpy.zeros((3, 5), "float16"), "y": numpy.zeros((), "int64")}, tmp_path / "m.safetensors"
    )
    tensors = {t.name: t for t in read_header(tmp_path / "m.safetensors")}
    assert tensors["x"].shape == (3, 5) and tensors["x"].dtype == "F16"
    assert tensors["y"].parameters == 1
