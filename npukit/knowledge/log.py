"""Bytes of a log as text to search, whatever terminals, Windows and crashing C libraries put into it."""

from __future__ import annotations

import codecs
import re

# CSI sequences (colours, cursor), OSC sequences (titles, links), and two-character escapes.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\^_])")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_log(data: bytes) -> str:
    """The text of a log file: never fails, whatever the bytes.

    UTF-8 (or UTF-16 with a byte order mark, as PowerShell writes); what is not valid becomes U+FFFD.
    """
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8-sig"
    return clean(data.decode(encoding, errors="replace"))


def clean(text: str) -> str:
    """``text`` without escape sequences and NULs, lines ended by a newline only.

    A lone carriage return (a progress bar) becomes a space, so that line numbers stay those of other tools.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", " ")
    if "\0" in text:
        text = text.replace("\0", "")
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def joined_lines(text: str) -> str:
    """``text`` with each line followed by the next one, without the bars of boxes: what a narrow terminal
    broke in two is whole again, and line numbers stay."""
    lines = [line.strip(" \t│|") for line in text.split("\n")]
    return "\n".join(f"{line} {following}" for line, following in zip(lines, [*lines[1:], ""], strict=True))
