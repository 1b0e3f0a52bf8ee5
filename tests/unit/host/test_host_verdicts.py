"""Every recorded machine gets the verdicts and remedies it should, and no others."""

import pytest

from npukit.host.survey import judge, survey
from npukit.host.verdict import texts
from tests.fixtures.recorded_host import host_names, load_record, recorded_host


def verdicts_of(name, lang="en"):
    return judge(survey(recorded_host(name)), lang)


@pytest.mark.parametrize("name", host_names())
def test_verdicts_are_the_expected_ones(name):
    expected = load_record(name)["expect"]
    found = {verdict.id: verdict for verdict in verdicts_of(name) if verdict.level != "ok"}
    assert {id: verdict.level for id, verdict in found.items()} == {id: e[0] for id, e in expected.items()}
    for id, (_, remedy) in expected.items():
        assert remedy in found[id].remedy, id


@pytest.mark.parametrize("name", host_names())
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_whatever_is_not_well_says_why_and_what_to_type(name, lang):
    for verdict in verdicts_of(name, lang):
        assert verdict.seen and "{" not in verdict.seen
        if verdict.level in ("warn", "fail"):
            assert verdict.cause and verdict.remedy, verdict.id


def test_every_text_is_reached_by_some_machine():
    told = {verdict.id for name in host_names() for verdict in verdicts_of(name)}
    there = {f"{area}.{name}" for area, rows in texts().items() for name in rows}
    by_other_tests = {"required.npu", "required.cuda", "imports.unknown", "hubs.not_asked", "compute.busy"}
    assert there - told == by_other_tests


def test_every_text_is_in_both_languages():
    for area, rows in texts().items():
        for name, row in rows.items():
            for part, words in row.items():
                assert set(words) == {"en", "zh"}, f"{area}.{name}.{part}"
