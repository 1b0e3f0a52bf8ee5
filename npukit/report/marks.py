"""Marked blocks: what npukit writes anew stands between marks, what a person wrote outside them stays.

<!-- npukit:begin performance -->
...
<!-- npukit:end performance -->
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from npukit.errors import NpukitError

BLOCK = re.compile(
    r"^(?:<!--|#) npukit:begin (?P<name>\S+)(?: -->)?\n.*?^(?:<!--|#) npukit:end (?P=name)(?: -->)?\n",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"^(?:<!--|#) npukit:(?:begin|end) (\S+)", re.MULTILINE)
FRONT = re.compile(r"\A---\n(?P<yaml>.*?)^---\n\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One marked part of a document. ``yaml`` is for front matter, where HTML comments do not stand."""

    name: str
    text: str
    yaml: bool = False

    def marked(self) -> str:
        left, right = ("# ", "") if self.yaml else ("<!-- ", " -->")
        begin, end = (f"{left}npukit:{word} {self.name}{right}" for word in ("begin", "end"))
        # Markdown needs empty lines around an HTML comment
        gap = "\n" if self.yaml else "\n\n"
        return f"{begin}{gap}{self.text.strip()}{gap}{end}\n"


def compose(blocks: Sequence[Block], front: Block | None, old: str | None, path: str) -> str:
    """The document of ``blocks``, with everything that ``old`` holds outside its marks.

    A block that is new goes behind the one it follows. Raises NpukitError ``report.foreign`` when ``old`` has
    no marks at all, ``report.marks`` when they do not pair.
    """
    yaml, body = _parted(old)
    if old is not None and not MARK.search(old):
        raise NpukitError("report.foreign", path=path)
    head = _merged([front] if front else [], yaml, path)
    return (f"---\n{head}---\n\n" if head.strip() else "") + _merged(blocks, body, path)


def _parted(old: str | None) -> tuple[str, str]:
    found = FRONT.match(old or "")
    return (found["yaml"], (old or "")[found.end() :]) if found else ("", old or "")


def _merged(blocks: Sequence[Block], old: str, path: str) -> str:
    own, written, end = [], [], 0  # (name or "", text) in order
    fresh = {block.name: block.marked() for block in blocks}
    for found in BLOCK.finditer(old):
        written.append(found["name"])
        own += [("", old[end : found.start()]), (found["name"], fresh.get(found["name"], ""))]
        end = found.end()
    own.append(("", old[end:]))
    stray = MARK.search("".join(text for name, text in own if not name))
    if stray or len(set(written)) != len(written):
        raise NpukitError("report.marks", path=path, name=stray[1] if stray else written[0])
    place = -1
    for block in blocks:
        known = next((i for i, (name, _) in enumerate(own) if name == block.name), None)
        if known is None:
            own.insert(place + 1, (block.name, ("" if place < 0 or block.yaml else "\n") + fresh[block.name]))
            place += 1
        else:
            place = known
    return "".join(text for _, text in own)


def plain(text: str) -> str:
    """The document without its front matter and marks, for other forms of it."""
    return re.sub(r"^<!-- npukit:(?:begin|end) \S+ -->\n", "", FRONT.sub("", text), flags=re.MULTILINE)
