"""`npukit env` from its command line: on recorded machines, on this one, and with torch_npu but no CANN."""

import json
import os
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from npukit.cli.app import main
from tests.fixtures.recorded_host import recorded_host

LIBRARY = "libhccl.so: cannot open shared object file: No such file or directory"


@pytest.fixture
def on(monkeypatch, tmp_path):
    """Run npukit on a recorded machine; its exit status."""
    monkeypatch.setenv("NPUKIT_HOME", str(tmp_path / "home"))

    def run(machine, *arguments):
        monkeypatch.setattr("npukit.cli.env.LocalHost", lambda: recorded_host(machine))
        return main(["env", *arguments])

    return run


def document(capfd):
    return json.loads(capfd.readouterr().out)


def test_a_sound_machine_passes_and_meets_the_requirement(on, capfd):
    assert on("pod_910b", "--json", "--require", "npu") == 0
    report = document(capfd)
    assert (report["worst"], report["required"], report["format"]) == ("ok", "npu", 1)
    assert report["facts"]["cards"]["chips"][0]["name"] == "Ascend910B3"


@pytest.mark.parametrize(
    ("machine", "required", "status"),
    [
        ("laptop", "npu", 3),
        ("laptop", "cuda", 3),
        ("cann_not_loaded", "npu", 3),
        ("emulated", "npu", 3),
        ("busy_and_alarm", "npu", 3),
    ],
)
def test_an_unmet_requirement_is_an_unfit_environment(on, capfd, machine, required, status):
    assert on(machine, "--json", "--require", required) == status
    assert f"required.{required}" in {verdict["id"] for verdict in document(capfd)["verdicts"]}


def test_a_laptop_is_not_at_fault(on, capfd):
    assert on("laptop") == 0
    out = capfd.readouterr().out
    assert "no NPU here" in out and "fail" not in out and "warn" not in out


def test_a_fault_is_judged_failed_and_told_with_what_to_type(on, capfd):
    assert on("cann_not_loaded", "--lang", "en") == 1
    out = capfd.readouterr().out
    assert "\n      $ source /usr/local/Ascend/cann/set_env.sh\n" in out
    assert out.rstrip().endswith("without names or tokens")


def test_in_chinese(on, capfd):
    assert on("cann_not_loaded", "--lang", "zh") == 1
    assert "没有加载其环境" in capfd.readouterr().out


def test_offline_asks_no_hub(on, capfd):
    assert on("laptop", "--json", "--offline") == 0
    report = document(capfd)
    assert report["facts"]["hubs"] is None
    assert [v["level"] for v in report["verdicts"] if v["id"] == "hubs.not_asked"] == ["info"]


def test_fix_writes_what_then_can_be_sourced(on, capfd, tmp_path):
    assert on("variables_wrong", "--fix", "--json") == 1
    fixed = document(capfd)["fixed"]
    file = Path(fixed["env_file"])
    assert file == tmp_path / "home" / "env.sh"
    sourced = subprocess.run(
        ["bash", "-euc", f". {file}; echo $HF_ENDPOINT $PYTORCH_NPU_ALLOC_CONF"],
        capture_output=True,
        text=True,
    )
    assert sourced.stdout == "https://mirror.example:8080 expandable_segments:True\n"
    assert "variables.blocking" in fixed["left"]


def test_paste_is_markdown(on, capfd):
    assert on("mismatched", "--paste") == 1
    out = capfd.readouterr().out
    assert "|---" in out and "pip install torch_npu==2.9.0" in out and "\x1b" not in out


def test_diff_of_two_machines(on, capfd, tmp_path):
    paths = []
    for machine in ("pod_910b", "old_cann_new_torch_npu"):
        on(machine, "--json")
        paths.append(tmp_path / f"{machine}.json")
        paths[-1].write_text(capfd.readouterr().out)
    assert main(["env", "--diff", *map(str, paths), "--json"]) == 0
    names = {difference["name"] for difference in document(capfd)["differences"]}
    assert {"cann.version", "system.python", "packages.numpy", "verdict versions.cann_older"} <= names
    assert main(["env", "--diff", *map(str, paths)]) == 0
    assert "8.2.RC1" in capfd.readouterr().out
    assert main(["env", "--diff", str(paths[0]), str(paths[0]), "--lang", "en"]) == 0
    assert "agree" in capfd.readouterr().out
    assert main(["env", "--diff", str(paths[0]), str(tmp_path / "none.json")]) == 2


def test_an_unknown_requirement_is_wrong_usage(on):
    assert on("laptop", "--require", "tpu") == 2


def npukit(*arguments, **environ):
    started = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-m", "npukit", "env", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "NPUKIT_HOME": "/nonexistent", **environ},
    )
    return ran, time.monotonic() - started


def levels(report):
    return {verdict["id"]: verdict["level"] for verdict in report["verdicts"]}


def test_this_machine_computes():
    ran, _ = npukit("--offline", "--json")
    report = json.loads(ran.stdout)
    assert levels(report)["imports.work"] == levels(report)["compute.right"] == "ok"
    assert report["facts"]["packages"]["torch"] == metadata.version("torch")


def assert_says_that_cann_is_missing(ran):
    report = json.loads(ran.stdout)
    assert ran.returncode == 1
    found = {verdict["id"]: verdict for verdict in report["verdicts"] if verdict["level"] == "fail"}
    assert list(found) == ["cann.absent", "imports.no_cann"]
    assert "set_env.sh" in found["cann.absent"]["remedy"]
    assert "libhccl.so" in found["imports.no_cann"]["seen"]
    assert "export TORCH_DEVICE_BACKEND_AUTOLOAD=0" in found["imports.no_cann"]["remedy"]
    plain = {found["module"]: found["ok"] for found in report["facts"]["torch"]["plain"]}
    assert plain == {"torch": True, "torch_npu": False, "transformers": True}
    assert levels(report)["compute.right"] == "ok"  # the CPU, once autoload is off


def test_a_torch_npu_that_autoloads_and_finds_no_cann(tmp_path):
    """The real torch, and a stand-in that registers and fails as the wheel does."""
    version = metadata.version("torch").partition("+")[0]
    info = tmp_path / f"torch_npu-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch_npu\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    (tmp_path / "torch_npu").mkdir()
    (tmp_path / "torch_npu" / "__init__.py").write_text(f"raise ImportError({LIBRARY!r})\n")
    ran, _ = npukit("--offline", "--json", PYTHONPATH=str(tmp_path), ASCEND_HOME_PATH="")
    assert_says_that_cann_is_missing(ran)


@pytest.mark.slow
def test_the_real_torch_npu_wheel_without_cann(tmp_path):
    version = metadata.version("torch").partition("+")[0]
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path)]
    got = subprocess.run([*install, f"torch_npu=={version}"], capture_output=True, text=True)
    if got.returncode:
        pytest.skip(f"no torch_npu wheel to be had: {got.stderr.strip().splitlines()[-1]}")
    ran, seconds = npukit("--json", PYTHONPATH=str(tmp_path), ASCEND_HOME_PATH="")
    assert_says_that_cann_is_missing(ran)
    assert seconds < 30  # about 10 on an idle machine
    human, _ = npukit(PYTHONPATH=str(tmp_path), ASCEND_HOME_PATH="", LANG="C")
    assert len(human.stdout.splitlines()) <= 40  # one screen


def test_the_remedy_for_a_wrong_file_does_not_overwrite_it(capfd, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text("[]")
    assert main(["env", "--diff", str(mine), str(mine), "--lang", "en"]) == 2
    told = capfd.readouterr().err
    assert f"> {mine}" not in told and "env --json >" in told
