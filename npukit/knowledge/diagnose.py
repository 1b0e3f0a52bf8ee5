"""Findings of a log, in the order in which to read them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace

from npukit.knowledge.codes import meaning
from npukit.knowledge.finding import ROLES, SEVERITIES, Finding
from npukit.knowledge.log import clean, joined_lines
from npukit.knowledge.rows import Row, rows
from npukit.knowledge.scan import Log, Place, scan

# A family yields to a specific row of its area this near: it is the same failure said twice.
BLOCK_BYTES = 1500
WRAPPED_CHARACTERS = 1 << 18
EXCERPT_BYTES = 240


def explain(text: str, lang: str = "en") -> list[Finding]:
    """What is known in ``text``, a log or traceback of any length; the finding to read first comes first.

    Root causes come before what they led to, what ended the run before warnings and noise. Where nothing is
    known the list is empty: see ``advise``. ``lang`` is "en" or "zh".
    """
    text = clean(text)
    found = _findings(text, lang)
    if len(text) <= WRAPPED_CHARACTERS and all(finding.severity == "noise" for finding in found):
        known = {finding.id for finding in found}
        # A narrow terminal or a boxed traceback broke the line that says it.
        found += [finding for finding in _findings(joined_lines(text), lang) if finding.id not in known]
    found.sort(key=_order)
    return [replace(finding, rank=rank) for rank, finding in enumerate(found, start=1)]


def _findings(text: str, lang: str) -> list[Finding]:
    log = Log(text)
    scanned = scan(log)
    by_id = {row.id: row for row in rows()}
    places = _after_yielding(scanned.rows, by_id)
    found = [_from_row(by_id[identity], log, there, lang) for identity, there in places.items()]
    explained = {code for identity in places for code in by_id[identity].codes}
    claimed = {
        place.line
        for identity, there in scanned.rows.items()
        if by_id[identity].severity != "noise"
        for place in there
    }
    told = any(finding.severity != "noise" for finding in found)
    for code, there in scanned.codes.items():
        free = [place for place in there if place.line not in claimed]
        if code in explained or not free or (told and code.startswith("ERR")):
            continue
        found += _from_code(code, log, free, lang)
    return found


def _after_yielding(places: Mapping[str, list[Place]], by_id: Mapping[str, Row]) -> dict[str, list[Place]]:
    """Families keep the lines on which no more specific row says more, nor one of their area close by."""
    kept: dict[str, list[Place]] = {}
    for tier in sorted({_tier(by_id[identity]) for identity in places}):
        telling = {identity: there for identity, there in kept.items() if by_id[identity].severity != "noise"}
        claimed = {place.line for there in telling.values() for place in there}
        for identity, there in places.items():
            row = by_id[identity]
            if _tier(row) != tier:
                continue
            near = sorted(
                p.line for other in telling if by_id[other].area == row.area for p in telling[other]
            )
            free = [p for p in there if not tier or (p.line not in claimed and not _close(p.line, near))]
            if free:
                kept[identity] = free
    return kept


def _tier(row: Row) -> int:
    """Who yields to whom: 0 yields to nobody, 1 to 0, 2 to both."""
    return row.family + (row.family and row.role != "cause")


def _close(at: int, lines: list[int]) -> bool:
    index = bisect_left(lines, at - BLOCK_BYTES)
    return index < len(lines) and lines[index] <= at + BLOCK_BYTES


def _from_row(row: Row, log: Log, places: list[Place], lang: str) -> Finding:
    hit = places[0].hit
    words = {name: _text(log.data[start:end]).rstrip(".:") for name, (start, end) in hit.words.items()}

    def said(texts: Mapping[str, str]) -> str:
        text = texts.get(lang, texts["en"]).strip()
        for name, word in words.items():
            text = text.replace("{" + name + "}", word)
        return text

    return Finding(
        id=row.id,
        title=said(row.title),
        severity=row.severity,
        role=row.role,
        confidence=row.confidence,
        cause=said(row.cause),
        remedy=said(row.remedy),
        sources=row.sources,
        excerpt=_excerpt(log, places[0]),
        line=log.line_number(places[0].line),
        count=len(places),
    )


def _from_code(code: str, log: Log, places: list[Place], lang: str) -> Iterator[Finding]:
    said = meaning(code, lang)
    if said is None:
        return
    first = min(places, key=lambda place: place.hit.start)
    yield Finding(
        id=f"code.{code}",
        title=said.title,
        severity="fatal",
        role="wrapper" if code.startswith("ERR") else "symptom",
        confidence="source",
        cause=said.cause,
        remedy=said.remedy,
        sources=said.sources,
        excerpt=_excerpt(log, first),
        line=log.line_number(first.line),
        count=len(places),
    )


def _excerpt(log: Log, place: Place) -> str:
    """The line, or of a very long one what stands around the hit."""
    end = log.line_end(place.hit.end)
    start = place.line
    if end - start > EXCERPT_BYTES:
        start = max(place.line, place.hit.start - EXCERPT_BYTES // 4)
        end = min(end, start + EXCERPT_BYTES)
    return " ".join(_text(log.data[start:end]).split())


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="ignore")


def _order(finding: Finding) -> tuple[int, int, int]:
    return SEVERITIES.index(finding.severity), ROLES.index(finding.role), finding.line
