from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npukit.knowledge import advise, explain, read_log

FAILURE = "ImportError: libhccl.so: cannot open shared object file: No such file or directory"


def test_colours_and_titles_go() -> None:
    coloured = (
        "\x1b]0;title\x07\x1b[1;31mImportError\x1b[0m: lib\x1b[Khccl.so: cannot open shared object file"
    )
    assert read_log(coloured.encode()) == "ImportError: libhccl.so: cannot open shared object file"


def test_windows_and_progress_bars_keep_line_numbers() -> None:
    data = b"one\r\n 10%\r 20%\r100%\r\n" + FAILURE.encode()
    text = read_log(data)
    assert text.count("\n") == 2
    assert explain(text)[0].line == 3


def test_broken_bytes_are_read() -> None:
    assert explain(read_log(b"\xfa\xff\0\n" + FAILURE.encode() + b"\0"))[0].id == "libraries.hccl-missing"
    assert "\0" not in read_log(b"a\0b")


def test_powershell_writes_utf16() -> None:
    assert explain(read_log(FAILURE.encode("utf-16")))[0].id == "libraries.hccl-missing"
    assert read_log("\ufeffplain".encode()) == "plain"


@given(st.binary(max_size=400))
def test_any_bytes_are_survived(data: bytes) -> None:
    text = read_log(data)
    assert explain(text) == explain(read_log(text.encode()))
    advise(text)


@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    for finding in explain(text + "\n" + FAILURE):
        assert finding.line >= 1 and finding.count >= 1
