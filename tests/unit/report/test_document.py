"""The sections, and what stands in their first lines."""

from __future__ import annotations

import string

import pytest

from npukit.report.document import document, front_matter
from npukit.report.evidence import Evidence, Found
from npukit.report.html import page
from npukit.report.tables import literal, table
from npukit.report.words import LANGUAGES, Words, _table
from tests.unit.report.sample import accuracy_measured, bench_measured, evidence, judged, result


def section(found: Evidence, name: str, lang: str = "en") -> str:
    return next(block.text for block in document(found, Words(lang)) if block.name == name)


def test_every_word_is_there_in_both_languages_with_the_same_placeholders() -> None:
    for name, words in _table().items():
        if name not in ("labels", "check-titles"):
            fields = [
                {field for _, field, _, _ in string.Formatter().parse(words[lang]) if field}
                for lang in LANGUAGES
            ]
            assert fields[0] == fields[1], name


def test_a_stage_that_was_not_run_says_so_with_what_to_type() -> None:
    text = section(evidence(), "performance")
    assert "**Not run: `npukit bench small --device npu:0` measures it.**" in text
    assert "ms" not in text


def test_a_result_that_another_version_measured_is_not_called_absent() -> None:
    text = section(evidence(bench=Found(None, ("stage bench/1 → bench/2",))), "performance")
    assert "**No longer current: stage bench/1 → bench/2." in text


def test_a_stale_one_says_why_in_its_first_line() -> None:
    stale = Found(judged(result("bench", bench_measured())), ("cann 8.1 → 8.2",))
    lines = section(evidence(bench=stale), "performance").splitlines()
    assert lines[2].startswith("**No longer current: cann 8.1 → 8.2.")


@pytest.mark.parametrize("name", ["performance", "accuracy", "environment"])
def test_emulated_figures_say_so_before_any_of_them(name: str) -> None:
    results = [
        result("bench", bench_measured(), emulated=True),
        result("accuracy", accuracy_measured(), emulated=True),
    ]
    lines = section(evidence(*results), name).splitlines()
    assert lines[2].startswith("**Emulated: ")


def test_figures_of_a_cpu_say_so() -> None:
    lines = section(
        evidence(result("bench", bench_measured(), device="cpu")), "performance", "zh"
    ).splitlines()
    assert lines[2] == "**在 CPU 上测得：未涉及 NPU。**"


def test_figures_carry_device_dtype_n_and_their_result() -> None:
    text = section(evidence(result("bench", bench_measured())), "performance")
    assert "npu:0, float16, n = 5; result `1212121212121212`, 2026-01-31 12:00:00 UTC, 3.0 s." in text


def test_a_failed_check_is_a_note_with_its_remedy() -> None:
    failed = Found(judged(result("bench", bench_measured()), passed=False))
    assert (
        "`bench.check` failed: expected all | of it; seen seen. Cause: why. Remedy: `npukit env`"
        in section(evidence(bench=failed), "notes")
    )


@pytest.mark.parametrize(
    ("changes", "hardware"), [({}, "NPU"), ({"emulated": True}, "CPU"), ({"device": "cpu"}, "CPU")]
)
def test_the_front_matter_claims_an_npu_only_where_one_computed(
    changes: dict[str, object], hardware: str
) -> None:
    text = front_matter(evidence(result("bench", bench_measured(), **changes))).text
    assert f"hardware: {hardware}\n" in text
    assert ('- "Ascend"' in text) == (hardware == "NPU")


def test_cells_hold_anything() -> None:
    assert table(["a"], [["x | y\nz"]]).splitlines()[-1].count("|") == 3
    assert literal("<b>*x*</b>\n\n`y`") == r"\<b\>\*x\*\</b\> ⏎ \`y\`"


def test_the_page_runs_nothing_that_a_model_said(tmp_path: object) -> None:
    from pathlib import Path

    said = page(
        "# T\n\n<script>alert(1)</script>\n\n![p](assets/none.png)\n", "<t>", "zh", Path(str(tmp_path))
    )
    assert "<script>" not in said
    assert "<title>&lt;t&gt;</title>" in said
    assert "http://" not in said and "https://" not in said


def test_a_chinese_report_names_what_a_check_looks_at() -> None:
    assert Words("zh").check("load.values") == "参数值与文件一致 `load.values`"
    assert Words("en").check("load.values") == "load.values"
    assert Words("zh").check("another.check") == "another.check"
