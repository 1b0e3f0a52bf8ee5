"""``npukit run`` does the whole job, keeps it, and says what it reuses."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.conftest import MODEL, Npukit

STAGES = ["fetch", "patch", "verify", "accuracy", "bench"]


def test_a_whole_run_passes_and_says_where_it_ran(finished_home: Path) -> None:
    document = json.loads((finished_home / "run.json").read_text(encoding="utf-8"))
    assert document["passed"]
    assert [stage["stage"] for stage in document["stages"]] == STAGES
    for stage in document["stages"]:
        assert stage["passed"]
        assert not stage["reused"]
        assert not stage["emulated"]
        assert all(check["expected"] and check["observed"] for check in stage["checks"])
    verify = document["stages"][2]
    assert verify["device"] == "cpu"
    assert verify["environment"]["device"] == "cpu"
    texts = {row["prompt"]: row["text"].strip() for row in verify["measured"]["answers"]}
    assert texts["two-cats"] == "two cats"
    bench = document["stages"][4]
    assert len(bench["measured"]["rounds"]) == 3
    assert all(len(row["token_ms"]) == bench["measured"]["new_tokens"] for row in bench["measured"]["rounds"])


def test_a_second_run_reuses_everything(home_after_run: Path, npukit: Npukit, tmp_path: Path) -> None:
    said = npukit("run", MODEL, "--json", "--rounds", 3, "--warmup", 1, "--out", tmp_path / "report")
    assert said.status == 0
    assert all(stage["reused"] for stage in said.document["stages"])
    assert "starting torch" not in said.err
    report = (tmp_path / "report" / "README.md").read_text(encoding="utf-8")
    assert "two cats" in report
    assert "no NPU was involved" in report
    assert len(json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8"))) == len(STAGES)


def test_part_of_a_run(home_after_run: Path, npukit: Npukit, tmp_path: Path) -> None:
    out = tmp_path / "report"
    said = npukit("run", MODEL, "--json", "--from", "patch", "--until", "verify", "--out", out)
    assert [stage["stage"] for stage in said.document["stages"]] == ["patch", "verify"]
    said = npukit("run", MODEL, "--json", "--only", "accuracy", "--out", out)
    assert [stage["stage"] for stage in said.document["stages"]] == ["accuracy"]
    said = npukit("run", MODEL, "--json", "--only", "acuracy")
    assert said.status == 2
    assert said.document["error"]["code"] == "stage.unknown"


def test_stages_alone_use_what_is_there(home_after_run: Path, npukit: Npukit) -> None:
    for stage in ("verify", "accuracy"):
        said = npukit(stage, "--json")
        assert said.status == 0
        assert said.document["reused"]
        assert "fetched last" in said.err


def test_a_changed_option_is_named(home_after_run: Path, npukit: Npukit) -> None:
    said = npukit("bench", MODEL, "--json", "--rounds", 2, "--warmup", 1, "--new-tokens", 4)
    assert said.status == 0
    assert not said.document["reused"]
    assert "rounds 3 → 2" in said.err
    assert [len(row["token_ms"]) for row in said.document["measured"]["rounds"]] == [4, 4]


def test_a_tightened_limit_judges_anew_without_measuring(
    home_after_run: Path, npukit: Npukit, tmp_path: Path
) -> None:
    assert npukit("recipes", "copy", MODEL, tmp_path / "mine.toml").status == 0
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        text.replace("[accuracy]", "[accuracy]\nmax_relative_l2 = 1e-9"), encoding="utf-8"
    )
    said = npukit("accuracy", tmp_path / "mine.toml", "--json")
    assert said.status == 1
    assert said.document["reused"]
    failed = [check["id"] for check in said.document["checks"] if check["passed"] is False]
    assert failed == ["accuracy.relative-l2"]


def test_chat_answers_about_a_picture(home_after_run: Path, npukit: Npukit) -> None:
    from npukit.builtin import picture

    said = npukit("chat", "--image", picture("two-cats.png"), "--question", "How many animals?")
    assert said.status == 0
    assert said.out.strip() == "two"


def test_a_strict_result_serves_a_plain_request(home_after_run: Path, npukit: Npukit) -> None:
    for path in home_after_run.glob("results/*/cpu/verify/*.json"):
        path.unlink()
    strict = npukit("verify", MODEL, "--strict", "--json").document
    plain = npukit("verify", MODEL, "--json").document
    assert not strict["reused"]
    assert plain["reused"]
    assert plain["path"] == strict["path"]
