"""The published repository: its scripts stand alone and say what the stages say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npukit.builtin import model_dir
from tests.integration.conftest import MODEL, Npukit

LOCAL = ("npukit", "NPUKIT")


@pytest.fixture
def repository(home_after_run: Path, npukit: Npukit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NPUKIT_HOME", str(home_after_run))
    said = npukit(
        "report", MODEL, "--device", "cpu", "--repo", tmp_path / "repo", "--no-pictures", "--lang", "en"
    )
    assert said.status == 0, said.err
    return tmp_path / "repo"


def script(repository: Path, name: str, *arguments: str) -> str:
    """Run one as a stranger would: from elsewhere, without npukit on the path."""
    blocked = repository.parent / "blocked"
    (blocked / "npukit").mkdir(parents=True, exist_ok=True)
    (blocked / "npukit" / "__init__.py").write_text("raise ImportError('npukit is not to be used')\n")
    inherited = os.environ.get("PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(LOCAL)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(blocked), inherited]))
    ran = subprocess.run(
        [sys.executable, str(repository / name), "--model", str(model_dir()), *arguments],
        env=environment, cwd=repository.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def measured(repository: Path, stage: str) -> dict[str, object]:
    (row,) = json.loads((repository / "results" / f"{stage}.json").read_text(encoding="utf-8"))
    return row["measured"]  # type: ignore[no-any-return]


def test_the_repository_is_whole_and_sound(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert text.startswith("---\n# npukit:begin front\n")
    assert "hardware: CPU" in text
    for name in ("inference.py", "eval/eval_accuracy.py", "eval/eval_performance.py"):
        assert f"python {name} --model DIRECTORY --device cpu" in text
        assert "npukit" not in (repository / name).read_text(encoding="utf-8").replace("npukit's", "")
    assert "transformers==" in (repository / "requirements.txt").read_text()
    assert "two cats" in (repository / "logs" / "verify.txt").read_text(encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "."], cwd=repository, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


def test_inference_gives_the_answers_that_were_verified(repository: Path) -> None:
    answers = measured(repository, "verify")["answers"]
    assert script(repository, "inference.py") == "".join(
        f"{row['prompt']}: {row['text'].strip()}\n"
        for row in answers  # type: ignore[attr-defined]
    )


def test_eval_accuracy_gives_the_errors_that_were_measured(repository: Path, tmp_path: Path) -> None:
    said = script(repository, "eval/eval_accuracy.py", "--json", str(tmp_path / "errors.json"))
    own = json.loads((tmp_path / "errors.json").read_text())
    for row in measured(repository, "accuracy")["prompts"]:  # type: ignore[attr-defined]
        for name in ("cosine", "max_abs", "mean_abs", "relative_l2", "relative_mean"):
            assert own[row["prompt"]][name] == pytest.approx(row["total"][name], rel=1e-3), name
        # in bfloat16 the two largest logits of a position can be one value: either may be the first
        one_tie = 1.01 / row["positions"]
        assert own[row["prompt"]]["top1_agreement"] == pytest.approx(
            row["total"]["top1_agreement"], abs=one_tie
        )
        assert own[row["prompt"]]["same_text"] == (row["generation"]["first_difference"] is None)
    assert "candidate cpu bfloat16, reference cpu float32" in said


def test_eval_performance_gives_figures_that_agree_with_each_other(repository: Path, tmp_path: Path) -> None:
    said = script(
        repository,
        "eval/eval_performance.py",
        "--rounds",
        "2",
        "--warmup",
        "1",
        "--json",
        str(tmp_path / "r.json"),
    )
    rounds = json.loads((tmp_path / "r.json").read_text())
    conditions = measured(repository, "bench")["conditions"]
    assert [row["tokens"] for row in rounds] == [conditions["new_tokens"]] * 2  # type: ignore[index]
    assert all(0 < row["ttft_ms"] < row["total_ms"] for row in rounds)
    rate = sum(row["tokens"] for row in rounds) / sum(row["total_ms"] for row in rounds) * 1e3
    assert f"throughput: {rate:.2f} tokens/s" in said


def test_a_model_that_scripts_cannot_serve_is_refused(
    repository: Path, home_after_run: Path, npukit: Npukit, tmp_path: Path
) -> None:
    (path,) = home_after_run.glob("results/*/host/patch/*.json")
    record = json.loads(path.read_text())
    record["measured"]["after"] = {"model.safetensors": "ab"}
    path.write_text(json.dumps(record))
    said = npukit("report", MODEL, "--device", "cpu", "--repo", tmp_path / "other", "--json")
    assert said.status == 2
    assert said.document["error"]["code"] == "report.not-alone"
