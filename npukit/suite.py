"""Question sets with scores: what a model can do, candidate beside reference. Pure.

    schema = 1
    name = "capitals"
    version = "1"          # a score is of one version: change it with the questions

    [[questions]]
    id = "france"
    text = "What is the capital of France?"
    answers = ["Paris"]
    score = "keyword"      # keyword (share of the answers that occur), exact, choice, bleu
    choices = []           # for choice: what is chosen from; answers holds the right one

A difference is the mean of the questions' own differences, with its standard error: pairs, not two means.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from npukit.errors import NpukitError
from npukit.strict import read_table
from npukit.toml import TOMLDecodeError, load_toml

SCORES = ("keyword", "exact", "choice", "bleu")
SCHEMA = 1


@dataclass(frozen=True)
class Question:
    """One question. ``images`` are looked for beside the file."""

    id: str
    text: str
    answers: tuple[str, ...]
    score: str = "keyword"
    choices: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    system: str = ""


@dataclass(frozen=True)
class Suite:
    name: str
    version: str
    questions: tuple[Question, ...]
    schema: int = SCHEMA
    max_new_tokens: int = 48


@dataclass(frozen=True)
class Difference:
    """Means from 0 to 1 of candidate and reference; ``difference`` is candidate minus reference."""

    questions: int
    candidate: float
    reference: float
    difference: float
    standard_error: float


def read_suite(path: Path) -> Suite:
    """Raises NpukitError ``suite.*``: with every fault listed, or for want of BLEU's library."""
    try:
        document = load_toml(path)
    except (OSError, TOMLDecodeError, UnicodeDecodeError) as error:
        raise NpukitError("suite.unreadable", path=str(path), reason=str(error)) from error
    faults: list[str] = []
    suite = read_table(Suite, document, "", faults)
    faults += [] if faults else _meaning(suite)
    if faults:
        raise NpukitError("suite.faults", path=str(path), faults="\n".join(f"  - {one}" for one in faults))
    found: Suite = suite
    if any(question.score == "bleu" for question in found.questions) and not find_spec("sacrebleu"):
        raise NpukitError("suite.no-bleu")
    return found


def _meaning(suite: Suite) -> list[str]:
    faults = [] if suite.questions else ["questions: at least one is needed"]
    ids = [question.id for question in suite.questions]
    faults += [
        f"questions: the id {one!r} is used twice" for one in sorted({i for i in ids if ids.count(i) > 1})
    ]
    for question in suite.questions:
        if question.score not in SCORES:
            faults.append(f"{question.id}: score {question.score!r} is none of {', '.join(SCORES)}")
        if not question.answers:
            faults.append(f"{question.id}: no answers")
        offered = {choice.strip() for choice in question.choices}
        if question.score == "choice" and not {answer.strip() for answer in question.answers} <= offered:
            faults.append(f"{question.id}: the answer is none of the choices")
    return faults


def score(question: Question, text: str) -> float:
    """From 0 to 1."""
    said = text.strip()
    if question.score == "keyword":
        return sum(word.lower() in said.lower() for word in question.answers) / len(question.answers)
    if question.score == "bleu":
        return _bleu(said, question.answers)
    return float(said in [answer.strip() for answer in question.answers])


def _bleu(text: str, answers: Sequence[str]) -> float:
    import sacrebleu

    chinese = any("一" <= letter <= "鿿" for letter in "".join(answers))
    found: float = sacrebleu.sentence_bleu(text, list(answers), tokenize="zh" if chinese else "13a").score
    return found / 100


def difference(candidate: Sequence[float], reference: Sequence[float]) -> Difference:
    """Of paired scores."""
    apart = [ours - theirs for ours, theirs in zip(candidate, reference, strict=True)]
    spread = statistics.stdev(apart) / math.sqrt(len(apart)) if len(apart) > 1 else math.nan
    return Difference(
        len(apart), statistics.fmean(candidate), statistics.fmean(reference), statistics.fmean(apart), spread
    )


def to_json(suite: Suite, texts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """``texts`` are candidate's and reference's answers, in the order of the questions."""
    rows = [
        {"id": q.id, "candidate": ours, "reference": theirs, "scores": [score(q, ours), score(q, theirs)]}
        for q, (ours, theirs) in zip(suite.questions, texts, strict=True)
    ]
    return {"name": suite.name, "version": suite.version, "questions": rows}
