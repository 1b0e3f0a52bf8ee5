"""Verdicts for machines that watch: JUnit XML and a Markdown summary. Pure."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Sequence
from dataclasses import dataclass, field

from tabulate import tabulate

from npukit.results import Check, Judged

# what XML 1.0 cannot hold, even escaped
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Outcome:
    """One model's run: its stages as they were done, or the error that ended it."""

    model: str
    stages: Sequence[Judged] = field(default_factory=tuple)
    error: str = ""

    @property
    def passed(self) -> bool:
        return not self.error and all(judged.passed for judged in self.stages)


def junit_xml(outcomes: Sequence[Outcome]) -> bytes:
    """A test suite per model and stage, a test case per check; an error is a case of its own."""
    root = xml.Element("testsuites", name="npukit")
    for outcome in outcomes:
        for judged in outcome.stages:
            _suite(root, outcome.model, judged)
        if outcome.error:
            suite = xml.SubElement(root, "testsuite", name=outcome.model, tests="1", failures="0", errors="1")
            case = xml.SubElement(suite, "testcase", classname=outcome.model, name="run")
            xml.SubElement(case, "error", message=_sound(outcome.error))
    xml.indent(root)
    return bytes(xml.tostring(root, encoding="utf-8", xml_declaration=True))


def _suite(root: xml.Element, model: str, judged: Judged) -> None:
    result, checks = judged.result, judged.checks
    suite = xml.SubElement(
        root,
        "testsuite",
        name=f"{model}.{result.stage}",
        tests=str(len(checks)),
        failures=str(len(judged.failed)),
        errors="0",
        skipped=str(sum(check.passed is None for check in checks)),
        time=f"{0.0 if judged.reused else result.duration_s:.3f}",
        timestamp=result.started,
    )
    told = {"device": result.device, "emulated": str(result.emulated).lower(), "result": result.key}
    properties = xml.SubElement(suite, "properties")
    for name, value in told.items():
        xml.SubElement(properties, "property", name=name, value=value)
    for check in checks:
        _case(suite, f"{model}.{result.stage}", check)


def _case(suite: xml.Element, classname: str, check: Check) -> None:
    case = xml.SubElement(suite, "testcase", classname=classname, name=check.id)
    seen = _sound(f"expected {check.expected}; seen {check.observed}")
    if check.passed is None:
        xml.SubElement(case, "skipped", message=seen)
    elif not check.passed:
        failure = xml.SubElement(case, "failure", message=seen)
        failure.text = _sound("\n".join(filter(None, (check.cause, check.remedy))))


def _sound(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)


def markdown_summary(outcomes: Sequence[Outcome]) -> str:
    """A table of models and stages, and below it every check that failed: a GitHub step's summary."""
    stages = list(dict.fromkeys(judged.result.stage for one in outcomes for judged in one.stages))
    rows = []
    for outcome in outcomes:
        done = {judged.result.stage: judged for judged in outcome.stages}
        cells = ["-" if s not in done else "pass" if done[s].passed else "**FAIL**" for s in stages]
        rows.append([outcome.model, *cells, "error" if outcome.error else ""])
    lines = [tabulate(rows, ["model", *stages, ""], tablefmt="github", disable_numparse=True)]
    for outcome in outcomes:
        lines += [f"- {outcome.model}: {outcome.error}"] if outcome.error else []
        lines += [
            f"- {outcome.model} `{check.id}`: expected {check.expected}; seen {check.observed}"
            for judged in outcome.stages
            for check in judged.failed
        ]
    emulated = any(judged.result.emulated for one in outcomes for judged in one.stages)
    note = ["Emulated: no hardware was involved."] if emulated else []
    return "\n".join([lines[0], "", *note, *lines[1:], ""])
