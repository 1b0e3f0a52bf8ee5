"""The schema says what the code writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import npukit
from npukit.errors import NpukitError
from npukit.resultfiles import read_results
from npukit.results import FORMAT, Check, StageResult
from npukit.stages import NAMES, stage_named
from tests.unit.report.sample import bench_measured, judged, result

jsonschema = pytest.importorskip("jsonschema", reason="pip install jsonschema: the schema is unproven")
SCHEMA = json.loads((Path(npukit.__file__).parent / "results.schema.json").read_text(encoding="utf-8"))


def test_fields_numbers_and_stages_are_those_of_the_code() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["required"]) == set(StageResult.__dataclass_fields__)
    assert set(SCHEMA["$defs"]["check"]["properties"]) == {*Check.__dataclass_fields__, "verdict"}
    assert SCHEMA["properties"]["format"]["const"] == FORMAT
    assert SCHEMA["properties"]["stage"]["enum"] == list(NAMES)


@pytest.mark.parametrize("passed", [True, False, None])
def test_records_and_judged_ones_are_valid(passed: bool | None) -> None:
    one = result("bench", bench_measured())
    jsonschema.validate(one.to_json(), SCHEMA)
    jsonschema.validate(judged(one, passed=passed).to_json(), SCHEMA)


@pytest.mark.parametrize(
    "damage",
    [{"format": 2}, {"device": "tpu:0"}, {"key": "x"}, {"stage": "chat"}, {"more": 1}, {"duration_s": -1}],
)
def test_others_are_not(damage: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**result("bench", bench_measured()).to_json(), **damage}, SCHEMA)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        ({"format": 0}, "results.other-format"),
        ({"inputs": {"stage": "bench/0"}}, "results.other-version"),
        ({"measured": None, "format": None}, "results.unreadable"),
    ],
)
def test_a_record_of_another_form_is_refused(tmp_path: Path, damage: dict[str, Any], code: str) -> None:
    inputs = {"stage": stage_named("bench").identity}
    path = tmp_path / "one.json"
    path.write_text(json.dumps({**result("bench", bench_measured(), inputs=inputs).to_json(), **damage}))
    with pytest.raises(NpukitError) as raised:
        read_results(path)
    assert raised.value.code == code


def test_a_record_is_read_back(tmp_path: Path) -> None:
    inputs = {"stage": stage_named("bench").identity}
    one = judged(result("bench", bench_measured(), inputs=inputs))
    (tmp_path / "results.json").write_text(json.dumps([one.to_json()]))
    (read,) = read_results(tmp_path)
    assert (read.result, read.checks) == (one.result, one.checks)
