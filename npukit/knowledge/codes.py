"""Error codes in a log, and what they say where no row says more.

Kinds, by the form in which they are named here: ``507011`` (ACL, runtime and aclnn), ``EZ9999`` (CANN, by module),
``ERR01004`` (torch_npu: module and kind), ``hccl:9`` (HCCL's results), ``-8005`` (DCMI, what npu-smi prints), and
``E1001``, which nothing of Ascend's prints: phantoms.toml knows why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from npukit.knowledge.rows import FOLDER
from npukit.toml import load_toml

# Digits alone are no code: a word before them, or a line of their own, makes them one.
_NUMBER = re.compile(
    rb"(?<![\w.])(?:1(?:0[07]|4[58]|61)|2(?:0[07]|45)|3(?:00|61)|5(?:0[07]|45|61))\d{3}(?!\w|\.\d)"
)
_BEFORE_NUMBER = re.compile(
    rb"(?:error[ _]?code|err[ _]?code|errno|error|result|ret(?:urn)?(?:[ _]?code)?|code|\xe7\xa0\x81)"
    rb"[\"']?[ \t]{0,3}(?:is|=|:|\[|\()?[ \t]{0,3}[\[(]?$",
    re.IGNORECASE,
)
_CANN = re.compile(rb"E(?:[1-9][0-9]{4}|[B-PZ][0-9]{4})(?![0-9A-Za-z_])")
_TORCH_NPU = re.compile(rb"ERR[0-9]{5}(?![0-9])")
_HCCL = re.compile(rb"HCCL function error[^\n]{0,400}?error code is ([0-9]{1,2})(?![0-9])")
_HCCL_PLOG = re.compile(rb"errNo\[0x[0-9a-fA-F]{8}05([0-9a-fA-F]{6})\]")
_DCMI = re.compile(rb"(?:ret(?:urn)?(?: is|=|:)|dcmi[^\n]{0,80}?) ?(-8[0-9]{3})(?![0-9])", re.IGNORECASE)
_SHORT = re.compile(rb"(?<![\w\[])E[1-4]0[0-9]{2}(?![\w.])")
_BEFORE_SHORT = re.compile(rb"(?:^|error|code|\xe7\xa0\x81|\[error\])[ \t:\[(]{0,3}$", re.IGNORECASE)


@dataclass(frozen=True)
class Code:
    """One code found: its name as above, and the byte offsets of its digits."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Meaning:
    """What is known of a code alone."""

    title: str
    cause: str
    remedy: str
    sources: tuple[str, ...]


def find_codes(data: bytes) -> Iterator[Code]:
    """Every code in the log, in no particular order."""
    for match in _NUMBER.finditer(data):
        if _BEFORE_NUMBER.search(data, max(0, match.start() - 32), match.start()) or _stands_out(data, match):
            yield _code(match)
    for match in _CANN.finditer(data):
        if _is_cann(data, match):
            yield _code(match)
    for match in _TORCH_NPU.finditer(data):
        yield _code(match)
    for match in _DCMI.finditer(data):
        yield _code(match, group=1)
    for match in _HCCL.finditer(data):
        yield Code(f"hccl:{int(match[1])}", *match.span(1))
    for match in _HCCL_PLOG.finditer(data):
        yield Code(f"hccl:{int(match[1], 16)}", *match.span(1))
    for match in _SHORT.finditer(data):
        before = data[max(0, data.rfind(b"\n", 0, match.start()) + 1, match.start() - 32) : match.start()]
        if _BEFORE_SHORT.search(before):
            yield _code(match)


def meaning(code: str, lang: str) -> Meaning | None:
    """What ``code`` says by itself: its own entry, else its family's; None where nothing is known of it."""
    tables = _tables()
    language = 1 if lang == "zh" else 0
    family = max((prefix for prefix in tables["families"] if code.startswith(prefix)), key=len, default="")
    if not family:
        return None
    words = tables["families"][family]
    said = tables["codes"].get(code, words["title"])[language]
    if code.startswith("ERR"):
        module, kind = (
            tables["torch_npu"]["modules"].get(code[3:5]),
            tables["torch_npu"]["kinds"].get(code[5:]),
        )
        if module and kind:
            said = f"{module[language]}: {kind[language]}"
    return Meaning(
        title=f"{code}: {said}",
        cause=words["cause"][language],
        remedy=words["remedy"][language],
        sources=tuple(words["sources"]),
    )


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    return load_toml(FOLDER / "codes.toml")


def _code(match: re.Match[bytes], group: int = 0) -> Code:
    return Code(match[group].decode(), *match.span(group))


def _stands_out(data: bytes, match: re.Match[bytes]) -> bool:
    """Alone on its line; or in parentheses on a line that speaks of an error."""
    start, end = _line(data, match)
    if data[start:end].strip(b" \t\"'.:,()[]") == match[0]:
        return True
    return data[match.start() - 1 : match.start()] == b"(" and b"rror" in data[start : match.start()]


def _is_cann(data: bytes, match: re.Match[bytes]) -> bool:
    """As CANN prints its codes: ``EZ9999: ...``, ``EE9999[PID: 1] ...``, ``...(EL0004): ...``; or alone on a line."""
    before, after = data[match.start() - 1 : match.start()], data[match.end() : match.end() + 1]
    if before.isalnum() or before in (b"_", b"-", b".", b"/"):
        return False
    if after in (b":", b"[") or (before == b"(" and after == b")"):
        return True
    start, end = _line(data, match)
    alone = data[start:end].strip(b" \t\"'.:,()[]") == match[0]
    named = _BEFORE_NUMBER.search(data, max(0, match.start() - 32), match.start()) is not None
    return alone or named or (match[0][1:2].isalpha() and after == b" ")


def _line(data: bytes, match: re.Match[bytes]) -> tuple[int, int]:
    end = data.find(b"\n", match.end())
    return data.rfind(b"\n", 0, match.start()) + 1, len(data) if end < 0 else end
