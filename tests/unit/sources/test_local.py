import pytest

from npukit.download.transfer import Transfer
from npukit.errors import NpukitError
from npukit.sources import RemoteFile, Want, source
from npukit.sources.base import Job, chosen, safe_path


def names(files):
    return [file.path for file in files]


def test_a_directory_is_proven_where_it_lies(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "merges.txt").write_text("a b")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("x")
    local, want = source("local"), Want("m", str(tmp_path), tmp_path)
    listing = local.listing(want)
    brought = local.bring(listing, Job(want, tmp_path / "unused", Transfer("local", lambda text: None)))
    assert brought.root == tmp_path and not (tmp_path / "unused").exists()
    assert {f.path: f.size for f in brought.files} == {"config.json": 2, "sub/merges.txt": 3}
    assert {f.source for f in brought.files} == {"local"}


def test_no_directory_and_nothing_in_it_are_told(tmp_path):
    with pytest.raises(NpukitError) as error:
        source("local").listing(Want("m", str(tmp_path / "none"), tmp_path))
    assert error.value.code == "fetch.no-directory"
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(NpukitError) as error:
        source("local").listing(Want("m", str(empty), tmp_path))
    assert error.value.code == "fetch.nothing"


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\\b", "C:x", "a\0b", "a/.git/hooks/x", "a/"],
)
def test_names_that_leave_the_directory_are_refused(path):
    with pytest.raises(NpukitError) as error:
        safe_path(path, "huggingface")
    assert error.value.code == "fetch.unsafe-path"


def test_names_that_stay_are_taken():
    assert safe_path("a/b c/...x.json", "huggingface") == "a/b c/...x.json"


def test_what_a_loader_reads_is_chosen():
    have = tuple(
        RemoteFile(p, 1)
        for p in ("model.safetensors", "pytorch_model.bin", "onnx/m.onnx", "config.json", ".gitattributes")
    )
    assert names(chosen(have, (), ())) == ["config.json", "model.safetensors"]
    assert names(chosen(have[1:], (), ())) == ["config.json", "onnx/m.onnx", "pytorch_model.bin"]
    assert names(chosen(have, ("*.bin", "onnx"), ())) == ["onnx/m.onnx", "pytorch_model.bin"]
    assert names(chosen(have, (), ("*.json",))) == ["model.safetensors"]
    twice = (*have, RemoteFile("consolidated.safetensors", 1))
    assert names(chosen(twice, (), ())) == ["config.json", "model.safetensors"]
    assert "consolidated.safetensors" in names(chosen(twice[1:], (), ()))
