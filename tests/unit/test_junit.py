"""JUnit XML that any reader reads, and the Markdown summary."""

from __future__ import annotations

import xml.etree.ElementTree as xml

from hypothesis import given
from hypothesis import strategies as st

from npukit.junit import Outcome, junit_xml, markdown_summary
from npukit.results import Check, Judged
from tests.unit.report.sample import bench_measured, judged, result


def test_cases_failures_skips_and_errors_are_counted() -> None:
    one = result("bench", bench_measured())
    checks = (
        Check("a", True, "x", "x"),
        Check("b", False, "x", "y", "why", "do"),
        Check("c", None, "x", "-"),
    )
    root = xml.fromstring(
        junit_xml([Outcome("small", [Judged(one, checks)]), Outcome("other", error="a.b: c")])
    )
    first, second = root.findall("testsuite")
    assert {name: first.get(name) for name in ("tests", "failures", "skipped", "time")} == {
        "tests": "3", "failures": "1", "skipped": "1", "time": "3.000",
    }  # fmt: skip
    failure = first.find("testcase/failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("expected x; seen y", "why\ndo")
    error = second.find("testcase/error")
    assert error is not None and error.get("message") == "a.b: c"


@given(st.text(max_size=50))
def test_anything_a_model_says_is_sound_xml(text: str) -> None:
    seen = Check("a", False, text, text, text, text)
    xml.fromstring(
        junit_xml([Outcome("small", [Judged(result("bench", bench_measured()), (seen,))], error=text)])
    )


def test_the_summary_names_what_failed_and_that_it_was_emulated() -> None:
    failed = judged(result("bench", bench_measured(), emulated=True), passed=False)
    text = markdown_summary([Outcome("small", [failed]), Outcome("other", error="a.b: c")])
    assert "**FAIL**" in text
    assert "- small `bench.check`: expected all | of it; seen seen" in text
    assert "- other: a.b: c" in text
    assert "Emulated" in text
