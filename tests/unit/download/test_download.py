"""One file from a server on loopback that fails in every way a server can."""

import errno
import hashlib
import random
from pathlib import Path

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npukit.download import reader
from npukit.download.address import Address, Expected, cause_of, hash_as
from npukit.download.file import download
from npukit.download.transfer import Transfer, measure_rate
from npukit.errors import NpukitError
from tests.fixtures.hub_mirror import Faults, serving

SIZE = 300_000
DATA = random.Random(3).randbytes(SIZE)
SHA256 = hashlib.sha256(DATA).hexdigest()
GIT_SHA1 = hashlib.sha1(b"blob %d\0" % SIZE + DATA).hexdigest()
NAME = "weights.bin"


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    (root / "o" / "n").mkdir(parents=True)
    (root / "o" / "n" / NAME).write_bytes(DATA)
    (root / "o" / "n" / "empty").write_bytes(b"")
    with serving(root) as mirror:
        yield mirror


@pytest.fixture(autouse=True)
def small_segments(mirror, monkeypatch):
    """Ranges and patience at the size of the file; a mirror without faults."""
    monkeypatch.setattr(reader, "MIN_SEGMENT_BYTES", 40_000)
    monkeypatch.setattr(reader, "READ_BYTES", 8_192)
    monkeypatch.setattr(reader.Reader, "pause", lambda self, tries: self.transfer.go_on())
    mirror.faults.__dict__.update(Faults().__dict__)
    mirror.log.clear()
    mirror.served.clear()


def get(mirror, folder: Path, *, path=NAME, size=SIZE, sha256=SHA256, git_sha1="", stall_s=5.0, part=None):
    """(sha256, what was said); the file is at folder/target."""
    said: list[str] = []
    transfer = Transfer("test", said.append, stall_s=stall_s)
    part = part or folder / "part"
    address = Address(f"{mirror.url}/o/n/resolve/main/{path}")
    expected = Expected(path, size, sha256, git_sha1)
    return download(lambda: address, part, folder / "target", expected, transfer), said


def failing(mirror, folder, **options):
    with pytest.raises(NpukitError) as error:
        get(mirror, folder, **options)
    assert not (folder / "target").exists()
    return error.value.code


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    drops=st.lists(st.integers(0, SIZE - 1), max_size=reader.TRIES - 1, unique=True),
    had=st.integers(0, SIZE + 10),
    ranges=st.booleans(),
)
def test_whatever_is_dropped_and_whatever_was_there_it_ends_whole(mirror, tmp_path, drops, had, ranges):
    mirror.faults.drop, mirror.faults.ranges = {NAME: list(drops)}, ranges
    (tmp_path / "part").write_bytes((DATA + b"more than there is")[:had])
    sha256, _ = get(mirror, tmp_path)
    assert sha256 == SHA256
    assert (tmp_path / "target").read_bytes() == DATA
    assert not (tmp_path / "part").exists()


def test_only_what_is_missing_comes(mirror, tmp_path):
    (tmp_path / "part").write_bytes(DATA[:250_000])
    _, said = get(mirror, tmp_path)
    assert mirror.served[NAME] == 50_000
    assert any("resumed" in text for text in said)


def test_a_wrong_part_of_an_earlier_run_is_begun_again(mirror, tmp_path):
    (tmp_path / "part").write_bytes(bytes(1000))
    _, said = get(mirror, tmp_path)
    assert (tmp_path / "target").read_bytes() == DATA
    assert any("from the beginning" in text for text in said)


def test_without_a_hash_nothing_is_resumed(mirror, tmp_path):
    (tmp_path / "part").write_bytes(bytes(1000))
    assert get(mirror, tmp_path, sha256="")[0] == SHA256


def test_git_s_hash_is_compared_where_it_is_all_there_is(mirror, tmp_path):
    assert get(mirror, tmp_path, sha256="", git_sha1=GIT_SHA1)[0] == SHA256
    (tmp_path / "target").unlink()
    assert failing(mirror, tmp_path, sha256="", git_sha1="0" * 40) == "fetch.corrupt"


def test_an_empty_file_is_a_file(mirror, tmp_path):
    empty = hashlib.sha256().hexdigest()
    assert get(mirror, tmp_path, path="empty", size=0, sha256=empty)[0] == empty
    assert (tmp_path / "target").read_bytes() == b""


def test_a_busy_server_is_asked_again_and_a_refusal_is_not(mirror, tmp_path):
    mirror.faults.status[NAME] = 503
    assert failing(mirror, tmp_path) == "fetch.unreachable"
    assert len(mirror.log) == reader.TRIES
    mirror.log.clear()
    mirror.faults.status[NAME] = 401
    assert failing(mirror, tmp_path) == "fetch.denied"
    assert len(mirror.log) == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"size": SIZE + 1}, "fetch.changed"),
        ({"size": SIZE - 1}, "fetch.changed"),
        ({"sha256": "0" * 64}, "fetch.corrupt"),
        ({"path": "none"}, "fetch.changed"),
    ],
)
def test_what_is_not_as_listed_is_told(mirror, tmp_path, options, code):
    assert failing(mirror, tmp_path, **options) == code


def test_a_lost_connection_keeps_what_came(mirror, tmp_path):
    mirror.faults.drop = {NAME: [at for at in (20_000,) for _ in range(2 * reader.TRIES)]}
    assert failing(mirror, tmp_path) == "fetch.unreachable"
    assert (tmp_path / "part").read_bytes() == DATA[:20_000]


def test_a_stall_is_told_with_its_seconds(mirror, tmp_path):
    mirror.faults.stall.add(NAME)
    assert failing(mirror, tmp_path, stall_s=0.2) == "fetch.stalled"


def test_a_full_disk_and_a_foreign_directory_are_told(mirror, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    assert failing(mirror, tmp_path, part=tmp_path / "file" / "part") == "fetch.unwritable"
    real = Path.open

    class Full:
        def __init__(self, stream):
            self.stream = stream

        def __getattr__(self, name):
            return getattr(self.stream, name)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.stream.close()

        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda self, *a, **k: Full(real(self, *a, **k)))
    assert failing(mirror, tmp_path) == "fetch.disk-full"


def test_an_address_never_shows_its_secrets():
    address = Address("https://u:p@host/path?X-Signature=s3cret", {"Authorization": "s3cret"})
    assert "s3cret" not in repr(address).replace(address.url, "") + address.shown
    assert address.shown == "https://host/path"


def test_hash_as_tells_the_same_content_only(tmp_path):
    (tmp_path / "x").write_bytes(DATA)
    assert hash_as(tmp_path / "x", Expected("x", SIZE, SHA256)) == SHA256
    assert hash_as(tmp_path / "x", Expected("x", SIZE, "0" * 64)) == ""
    assert hash_as(tmp_path / "x", Expected("x", SIZE - 1, SHA256)) == ""
    assert hash_as(tmp_path / "none", Expected("x", SIZE, SHA256)) == ""


def test_a_rate_is_measured_on_a_few_bytes(mirror):
    transfer = Transfer("test", lambda text: None)
    assert measure_rate(Address(f"{mirror.url}/o/n/resolve/main/{NAME}"), transfer) > 0
    assert measure_rate(Address(f"{mirror.url}/o/n/resolve/main/none"), transfer) == 0
    assert measure_rate(Address("http://127.0.0.1:9/x"), transfer) == 0


def test_the_cause_of_a_refused_connection_is_the_system_s():
    with pytest.raises(requests.ConnectionError) as error:
        requests.get("http://127.0.0.1:9/x?signature=s3cret", timeout=5)
    assert cause_of(error.value) == "Connection refused"


def test_the_cause_of_a_refused_request_is_its_status():
    error = ValueError("no")
    error.response = type("Response", (), {"status_code": 503})()
    assert cause_of(error) == "HTTP 503"
