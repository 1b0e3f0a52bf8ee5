import json
import os
import struct

import pytest

from npukit.proof import FileProof, Proof, hash_file, load, prove, recheck, save, untouched
from npukit.proof.checkpoint import INDEX, inspect


def weights(path, **tensors):
    """Each keyword is a number of float32; the values are the bytes 1, 2, 3, ..."""
    header, at = {}, 0
    for name, count in tensors.items():
        header[name] = {"dtype": "F32", "shape": [count], "data_offsets": [at, at + 4 * count]}
        at += 4 * count
    text = json.dumps(header).encode()
    data = (bytes(range(1, 64)) * (at // 63 + 1))[:at]
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture
def model(tmp_path):
    root = tmp_path / "m"
    root.mkdir()
    (root / "config.json").write_text('{"model_type": "llama"}')
    weights(root / "model.safetensors", a=6, b=10)
    return root


def proven(root, **options):
    names = sorted(p.name for p in root.iterdir())
    return prove("m", root, [hash_file(root, name, "local") for name in names], **options)


def kinds(contents):
    return {(f.kind, f.path) for f in contents.faults}


def test_a_whole_model_is_counted(model):
    proof = proven(model)
    assert proof.whole and untouched(proof)
    assert (proof.tensors, proof.parameters, proof.dtypes) == (2, 16, {"F32": 2})


def test_it_is_kept_and_read_back(model, tmp_path):
    proof = proven(model)
    save(proof, tmp_path / "kept")
    assert load(tmp_path / "kept") == proof


def test_a_torn_or_foreign_record_is_none(model, tmp_path):
    path = save(proven(model), tmp_path / "kept")
    text = path.read_text()
    for broken in (
        "",
        text[:100],
        "[]",
        text.replace('"format": 1', '"format": 2'),
        text.replace("a", "b", 40),
    ):
        path.write_text(broken)
        assert load(tmp_path / "kept") is None


def test_the_digest_names_content_not_place_or_origin(model, tmp_path):
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in model.iterdir():
        (moved / path.name).write_bytes(path.read_bytes())
    proof = proven(model)
    other = prove("n", moved, [hash_file(moved, f.path, "huggingface") for f in proof.files])
    assert other.digest == proof.digest
    (moved / "config.json").write_text("{}")
    assert proven(moved).digest != proof.digest


def test_recheck_finds_what_changed_and_remembers_what_was_right(model):
    proof = proven(model)
    data = bytearray((model / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (model / "model.safetensors").write_bytes(data)
    (model / "config.json").unlink()
    again = recheck(proof)
    assert kinds(again) >= {("sha256", "model.safetensors"), ("missing", "config.json")}
    assert again.digest == proof.digest
    assert not untouched(proof)


def test_recheck_of_what_did_not_change_is_the_same_proof(model):
    proof = proven(model)
    os.utime(model / "config.json", ns=(1, 1))
    assert not untouched(proof)
    again = recheck(proof)
    assert again.whole and again.digest == proof.digest and untouched(again)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        (
            "model.safetensors",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
            "pointer",
        ),
        ("model.safetensors", b"\n<!DOCTYPE html><html>502</html>", "page"),
        ("config.json", b"<html><body>Sign in</body></html>", "page"),
        ("config.json", b'{"a": ', "json"),
        ("config.json", b"[" * 200_000, "json"),
        ("model.safetensors", b"", "empty"),
        ("model.safetensors", b"PK\x03\x04" + bytes(60), "header"),
    ],
)
def test_what_is_no_weight_is_told(model, name, content, kind):
    (model / name).write_bytes(content)
    assert (kind, name) in kinds(proven(model))


def index(root, weight_map):
    (root / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def test_shards_are_held_against_their_index(tmp_path):
    weights(tmp_path / "a.safetensors", x=2, y=3)
    weights(tmp_path / "b.safetensors", z=4)
    names = ["a.safetensors", "b.safetensors", INDEX]
    index(tmp_path, {"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"})
    assert inspect(tmp_path, names).faults == ()
    assert inspect(tmp_path, names).tensors == 3
    index(
        tmp_path, {"x": "a.safetensors", "lost": "b.safetensors", "z": "b.safetensors", "w": "c.safetensors"}
    )
    assert kinds(inspect(tmp_path, names)) == {("index", f"{c}.safetensors") for c in "abc"}
    index(tmp_path, ["a.safetensors"])
    assert kinds(inspect(tmp_path, names)) == {("index", INDEX)}


def test_a_tensor_in_two_shards_is_a_fault(tmp_path):
    weights(tmp_path / "a.safetensors", x=2)
    weights(tmp_path / "b.safetensors", x=2)
    assert kinds(inspect(tmp_path, ["a.safetensors", "b.safetensors"])) == {("index", "b.safetensors")}


def test_weights_beside_the_loaded_ones_are_not_counted(model):
    weights(model / "extra.safetensors", a=100)
    assert proven(model).parameters == 16


def test_deep_finds_holes_and_non_finite_numbers(tmp_path):
    weights(tmp_path / "model.safetensors", whole=10, holed=40_000, nan=4)
    data = bytearray((tmp_path / "model.safetensors").read_bytes())
    data[-16:-12] = struct.pack("<f", float("nan"))
    data[-8:-4] = struct.pack("<f", float("inf"))
    middle = len(data) - 16 - 120_000
    data[middle : middle + 100_000] = bytes(100_000)
    (tmp_path / "model.safetensors").write_bytes(data)
    assert proven(tmp_path).whole
    faults = {f.kind: f.detail for f in proven(tmp_path, deep=True).faults}
    assert faults["non-finite"] == "nan: 2 of 4 numbers"
    assert faults["hole"].startswith("holed: a run of")


def test_zeros_that_the_source_published_are_no_fault(tmp_path):
    weights(tmp_path / "model.safetensors", zeros=40_000)
    data = bytearray((tmp_path / "model.safetensors").read_bytes())
    data[-150_000:] = bytes(150_000)
    (tmp_path / "model.safetensors").write_bytes(data)
    stated = hash_file(tmp_path, "model.safetensors", "huggingface:o/n@1", "sha256")
    assert prove("m", tmp_path, [stated], deep=True).whole


@pytest.mark.parametrize(
    ("dtype", "bits", "bad"),
    [("BF16", 0x7F80, 1), ("BF16", 0x7F7F, 0), ("F16", 0xFC00, 1), ("F16", 0x7BFF, 0), ("I16", 0x7FFF, 0)],
)
def test_non_finite_by_dtype(tmp_path, dtype, bits, bad):
    text = json.dumps({"t": {"dtype": dtype, "shape": [3], "data_offsets": [0, 6]}}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<3H", 1, bits, 2))
    assert len(proven(tmp_path, deep=True).faults) == bad


def test_a_proof_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="not a proof"):
        Proof.from_json({"format": 1})
    assert FileProof("a", 1, "0", "local").stated == ""
