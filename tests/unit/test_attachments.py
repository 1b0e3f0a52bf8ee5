from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from npukit import attachments
from npukit.errors import NpukitError
from tests.fixtures.pictures import plain, saved

PNG = saved(plain(), "PNG")


def code(error: pytest.ExceptionInfo[NpukitError]) -> str:
    error.value.message("en"), error.value.message("zh")
    return error.value.code


@pytest.fixture
def hub() -> Iterator[str]:
    """A server on loopback: /cat is a picture, /away redirects to another host's name, /large never ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/away":
                port = self.server.server_address[1]
                self.send_response(302)
                self.send_header("location", f"http://localhost:{port}/cat")
                self.end_headers()
                return
            found = self.path in ("/cat", "/large")
            self.send_response(200 if found else 404)
            self.end_headers()
            if found:
                self.wfile.write(PNG if self.path == "/cat" else bytes(100_000))

        def log_message(self, format: str, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_picture_from_an_address_is_kept_by_its_content(hub: str, tmp_path: Path) -> None:
    (first,) = attachments.pictures(f"{hub}/cat", tmp_path)
    (again,) = attachments.pictures(f"{hub}/cat", tmp_path)
    assert Path(first["path"]).read_bytes() == PNG
    assert again == first
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_not_there_or_too_large(hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NpukitError) as caught:
        attachments.download(f"{hub}/absent")
    assert code(caught) == "picture.no-download"
    monkeypatch.setattr(attachments, "MAX_BYTES", 1000)
    with pytest.raises(NpukitError) as caught:
        attachments.download(f"{hub}/large")
    assert code(caught) == "picture.no-download"


def test_no_host_on_the_way_is_visited_unless_allowed(hub: str) -> None:
    assert attachments.download(f"{hub}/away", {"127.0.0.1", "localhost"}.__contains__) == PNG
    for allowed in ({"127.0.0.1"}, {"localhost"}, set()):
        with pytest.raises(NpukitError) as caught:
            attachments.download(f"{hub}/away", allowed.__contains__)
        assert code(caught) == "picture.host-not-allowed"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/a.png", "http:///a.png", "gopher://x"])
def test_other_schemes_are_refused(url: str) -> None:
    with pytest.raises(NpukitError) as caught:
        attachments.download(url, lambda host: bool(host))
    assert code(caught) == "picture.host-not-allowed"


def test_a_directory_is_its_pictures_in_order(tmp_path: Path) -> None:
    for name in ("b.png", "a.PNG", "notes.txt"):
        (tmp_path / name).write_bytes(PNG)
    found = attachments.pictures(str(tmp_path), tmp_path)
    assert [Path(part["path"]).name for part in found] == ["a.PNG", "b.png"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(NpukitError) as caught:
        attachments.pictures(str(empty), tmp_path)
    assert code(caught) == "picture.none-in-directory"


def test_a_video_carries_only_what_was_said_of_it(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.touch()
    assert attachments.video(str(film), fps=2.0, max_frames=None) == {
        "type": "video",
        "path": str(film),
        "fps": 2.0,
    }


@pytest.mark.parametrize("uri", ["data:image/png,raw", "data:image/png;base64,a b", "data:;base64,a"])
def test_data_uris_are_read_strictly(uri: str) -> None:
    with pytest.raises(NpukitError) as caught:
        attachments.data_uri(uri)
    assert code(caught) == "picture.damaged"
    assert attachments.data_uri("data:image/png;base64,aGk=") == b"hi"
