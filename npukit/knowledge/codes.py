"""Error codes in a log, and what they say where no row says more.

Kinds, by the form in which they are named here: ``507011`` (ACL, runtime and aclnn), ``EZ9999`` (CANN, by
module), ``ERR01004`` (torch_npu: module and kind), ``hccl:9`` (HCCL's results), ``-8005`` (DCMI, what npu-smi
prints), and ``E1001``, which nothing of Ascend's prints: phantoms.toml knows why.

Each expression below begins with literal text or is tried on a few bytes only: that keeps a long log cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from npukit.knowledge.rows import FOLDER
from npukit.toml import load_toml

ALONE_BYTES = 2000  # a text this short may be nothing but a code

# Six digits are a code only after a word that says so (or in parentheses on a line that speaks of an error).
_NUMBER = rb"((?:1(?:0[07]|4[58]|61)|2(?:0[07]|45)|3(?:00|61)|5(?:0[07]|45|61))[0-9]{3})(?!\w|\.[0-9])"
_GAP = rb"(?:[^\w\n]{0,6}|[^\w\n]{1,3}is[^\w\n]{1,3})"
_NUMBERS = tuple(
    re.compile(before + _NUMBER)
    for before in (
        *(word + _GAP for word in (rb"code", rb"errno", rb"error", rb"ret", rb"\xe7\xa0\x81")),
        rb"result = ",
        rb"failed: ",
        rb"\(",
    )
)
# "code" and "ret" are also ends of other words: barcode, secret.
_BEFORE_CODE = re.compile(rb"(?:err|error|ret|return|acl|result|status)[ _]?$")
_CANN = re.compile(rb"E(?:[1-9][0-9]{4}|[B-PZ][0-9]{4})(?![0-9A-Za-z_])")
_TORCH_NPU = re.compile(rb"ERR[0-9]{5}(?![0-9])")
_HCCL = re.compile(rb"HCCL function error[^\n]{0,400}?error code is ([0-9]{1,2})(?![0-9])")
_HCCL_PLOG = re.compile(rb"errNo\[0x[0-9a-fA-F]{8}05([0-9a-fA-F]{6})\]")
_DCMI = re.compile(rb"-8[0-9]{3}(?![0-9])")
_BEFORE_DCMI = re.compile(rb"(?:\bret(?:urn)?(?: is|=|:)|dcmi[^\n]{0,40}) ?$")
_SHORT = re.compile(rb"E[1-4]0[0-9]{2}(?![\w.])")
_BEFORE_SHORT = re.compile(rb"(?:^|error|codes?|\xe7\xa0\x81|\[error\])[ \t:(|*`#-]{0,6}$", re.IGNORECASE)
_ALONE = re.compile(
    rb"^[^\w\n]{0,8}?(E[1-9B-PZ][0-9]{4}|-8[0-9]{3}|" + _NUMBER + rb")[^\w\n]{0,8}$", re.MULTILINE
)


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


def find_codes(data: bytes, lowered: bytes) -> Iterator[Code]:
    """Every code in the log, once for each place, in no particular order."""
    for expression in _NUMBERS:
        for match in expression.finditer(lowered):
            if _is_number(lowered, match):
                yield _code(match, group=1)
    for match in _CANN.finditer(data):
        if _is_cann(data, match):
            yield _code(match)
    for match in _TORCH_NPU.finditer(data):
        yield _code(match)
    for match in _DCMI.finditer(data):
        if _BEFORE_DCMI.search(lowered, max(0, match.start() - 60), match.start()):
            yield _code(match)
    for match in _HCCL.finditer(data):
        yield Code(f"hccl:{int(match[1])}", *match.span(1))
    for match in _HCCL_PLOG.finditer(data):
        yield Code(f"hccl:{int(match[1], 16)}", *match.span(1))
    for match in _SHORT.finditer(data):
        before = data[max(0, data.rfind(b"\n", 0, match.start()) + 1, match.start() - 32) : match.start()]
        if _BEFORE_SHORT.search(before):
            yield _code(match)
    if len(data) <= ALONE_BYTES:
        for match in _ALONE.finditer(data):
            yield _code(match, group=1)


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
        parts = tables["torch_npu"]
        module, kind = parts["modules"].get(code[3:5]), parts["kinds"].get(code[5:])
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


def _is_number(lowered: bytes, match: re.Match[bytes]) -> bool:
    start = match.start()
    if match[0].startswith(b"code"):
        return _BEFORE_CODE.search(lowered, max(0, start - 12), start) is not None
    if match[0].startswith(b"ret"):
        return not lowered[start - 1 : start].isalpha()
    if match[0].startswith(b"("):
        return b"error" in lowered[lowered.rfind(b"\n", 0, start) + 1 : start]
    return True


def _is_cann(data: bytes, match: re.Match[bytes]) -> bool:
    """As CANN prints its codes: ``EZ9999: ..``, ``EE9999[PID: 1] ..``, ``..(EL0004): ..``, ``EI0006 ..``."""
    before, after = data[match.start() - 1 : match.start()], data[match.end() : match.end() + 1]
    if before.isalnum() or before in (b"_", b"-", b".", b"/"):
        return False
    if after in (b":", b"[") or (before == b"(" and after == b")"):
        return True
    line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
    return match[0][1:2].isalpha() and after == b" " and (not line.strip() or b"rror" in line[-16:])
