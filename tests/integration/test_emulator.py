"""The real torch_npu on the emulated CANN: does it compute, and does it fail where and as a card would?

Built once into pytest's own cache. Each test starts a process: torch_npu reads its environment when imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from npukit.emulator.build import build
from npukit.emulator.environment import Machine, emulated_environment
from tests.fixtures.torch_npu_wheel import usable
from tests.integration.conftest import Npukit
from tests.integration.operator_table import counts, passing, whole

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.skipif(not usable(), reason="the emulator needs torch_npu and a C++ compiler"),
    pytest.mark.usefixtures("torch_npu"),
]
Python = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def library(pytestconfig: pytest.Config, torch_npu: None) -> Path:
    assert pytestconfig.cache is not None
    return build(pytestconfig.cache.mkdir("npukit"))


@pytest.fixture
def python(library: Path) -> Python:
    """Run Python in the emulator's environment: ``python(*arguments, machine, **more variables)``."""

    def run(*arguments: str, machine: Machine = Machine(), **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**emulated_environment(os.environ, library, machine), **more}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=3000,
            cwd=HERE.parents[1],
        )

    return run


def test_signatures_are_those_that_torch_npu_calls(python: Python, library: Path) -> None:
    script = """
import torch, sys
from pathlib import Path
from npukit.emulator.signatures import compare, expected_signatures, written_signatures
expected, written = expected_signatures(), written_signatures(Path(sys.argv[1]))
for wrong in compare(expected, written):
    print("wrong:", wrong)
# only the presence of these two is asked for
for name in set(written) - set(expected) - {"aclnnInplaceCeil", "aclnnLogSigmoid"}:
    print("never called:", name)
print(len(written))
"""
    told = python("-c", script, str(library), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert told.returncode == 0, told.stderr
    *wrong, count = told.stdout.split("\n")[:-1]
    assert wrong == []
    assert int(count) > 600


def test_it_computes_as_the_cpu_and_behaves_as_a_card(python: Python) -> None:
    told = python(str(HERE / "emulated_checks.py"), machine=Machine(devices=2))
    results = json.loads(told.stdout.splitlines()[-1])
    assert {name: why for name, why in results.items() if why} == {}
    assert len(results) >= 17


def test_the_contract_of_devices_holds(python: Python) -> None:
    told = python("-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-k", "npu", "tests/device")
    assert told.returncode == 0, told.stdout[-3000:]
    assert "8 passed" in told.stdout and "skipped" not in told.stdout


PRODUCT = """
import torch, torch_npu
def tried(compute):
    try:
        return f"gave {compute()}"
    except RuntimeError as error:
        return "raised " + str(error).replace("\\n", " ")
ones = torch.ones(2, 2, device="npu")
print(tried(lambda: torch.mm(ones, ones).cpu().sum().item()))
print(tried(lambda: (ones + 1).cpu().sum().item()))
import os; os._exit(0)
"""


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_a_missing_operator_raises_by_name(python: Python, queue: str) -> None:
    told = python("-c", PRODUCT, TASK_QUEUE_ENABLE=queue, NPUKIT_EMU_WITHOUT="aclnnMm")
    product, after = told.stdout.splitlines()[-2:]
    assert product.startswith("raised") and "aclnnMm" in product
    # With all of the work in torch_npu's own thread the error may come late; then the device is lost with it.
    assert after == "gave 8.0" if queue != "2" else after.startswith("raised") and "561103" in after


@pytest.mark.parametrize("queue", ["0", "1"])
def test_a_failed_operator_never_gives_a_number(python: Python, queue: str) -> None:
    told = python("-c", PRODUCT, machine=Machine(faults="aclnnMm:1:561000"), TASK_QUEUE_ENABLE=queue)
    product, after = told.stdout.splitlines()[-2:]
    assert product.startswith("raised") and "aclnnMm" in product
    assert after == "gave 8.0" if queue == "0" else after.startswith("raised")


def test_a_lost_device_stays_lost(python: Python) -> None:
    told = python("-c", PRODUCT, machine=Machine(faults="aclnnMm:1:507011"))
    for line in told.stdout.splitlines()[-2:]:
        assert line.startswith("raised") and "error code is 507011" in line


def test_hbm_runs_out_in_torch_npus_own_words(python: Python) -> None:
    script = """
import torch, torch_npu
kept = torch.empty(600 * 2**20, dtype=torch.uint8, device="npu")
try:
    torch.empty(600 * 2**20, dtype=torch.uint8, device="npu")
except torch.OutOfMemoryError as error:
    print(error)
del kept
torch.npu.empty_cache()
print(torch.empty(600 * 2**20, dtype=torch.uint8, device="npu").nbytes)
"""
    told = python("-c", script, machine=Machine(hbm_bytes=2**30))
    assert "NPU out of memory. Tried to allocate 602.00 MiB" in told.stdout, told.stderr
    assert told.stdout.splitlines()[-1] == str(600 * 2**20)


def test_an_older_soc_refuses_bf16(python: Python) -> None:
    script = "import torch, torch_npu; a = torch.ones(2, dtype=torch.bfloat16, device='npu'); print(a + a)"
    told = python("-c", script, machine=Machine(soc="Ascend310P3"))
    assert told.returncode != 0
    assert "DT_BFLOAT16" in told.stderr


def test_a_mask_hides_devices(python: Python) -> None:
    script = "import torch, torch_npu; print(torch.npu.device_count())"
    told = python("-c", script, machine=Machine(devices=4), ASCEND_RT_VISIBLE_DEVICES="1,3")
    assert told.stdout.splitlines()[-1] == "2"


def test_the_operator_compiler_needs_its_cache_directory(python: Python) -> None:
    # the compiler starts with the first operator that has no aclnn call: this one
    script = """
import torch, torch_npu
x = torch.randn(3, 4, device="npu", requires_grad=True)
torch.cdist(x, x + 1).backward(torch.ones(3, 3, device="npu"))
"""
    told = python("-c", script, ASCEND_CACHE_PATH="/nowhere/at/all")
    assert told.returncode != 0
    assert "error code is 500001" in told.stderr and "/nowhere/at/all" in told.stderr


@pytest.fixture
def home_with_emulator(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's $NPUKIT_HOME, with the libraries that are built already."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "emulator").symlink_to(library.parent)
    return home


def test_a_model_is_judged_through_the_real_torch_npu(npukit: Npukit, home_with_emulator: Path) -> None:
    said = npukit("accuracy", "tiny-minicpm-v", "--device", "npu", "--emulated", "--json")
    assert said.status == 0, said.err
    result = said.document.get("result", said.document)
    assert result["emulated"] is True and result["device"] == "npu:0"


def test_only_an_npu_is_emulated(npukit: Npukit) -> None:
    said = npukit("verify", "tiny-minicpm-v", "--device", "cpu", "--emulated")
    assert said.status == 2 and "only an NPU is emulated" in said.err


def test_operators_of_a_model_are_counted_by_phase(npukit: Npukit, home_with_emulator: Path) -> None:
    said = npukit("ops", "tiny-minicpm-v", "--emulated", "--max-fallback", 0, "--json")
    assert said.status == 0, said.err
    rows = {row["operator"]: row for row in said.document["operators"]}
    assert rows["aten::argmax"]["decode"] > 0 and rows["aten::argmax"]["npu"] == "kernel"
    assert any(row["vision"] for row in rows.values()) and any(row["prefill"] for row in rows.values())
    assert said.document["fallbacks"] == []


@pytest.mark.slow
def test_a_whole_rehearsal_passes(npukit: Npukit, home_with_emulator: Path, tmp_path: Path) -> None:
    said = npukit("rehearse", "tiny-minicpm-v", "--out", tmp_path / "report", "--json")
    assert said.status == 0, said.err
    assert all(stage["passed"] for stage in said.document["stages"])
    verify = next(stage for stage in said.document["stages"] if stage["stage"] == "verify")
    kernels = next(check for check in verify["checks"] if check["id"] == "operators.kernels")
    assert kernels["passed"] is True and kernels["observed"].startswith("0 of "), kernels
    assert "no hardware was involved" in (tmp_path / "report" / "README.md").read_text()


@pytest.mark.slow
def test_operators_agree_as_the_table_says(python: Python, tmp_path: Path) -> None:
    """PyTorch's samples of every operator; what the published table says passes must pass."""
    results = tmp_path / "results.jsonl"
    for _ in range(20):  # an operator that crashes ends the process; the next one goes on after it
        if python(str(HERE / "operator_runner.py"), str(results)).returncode == 0:
            break
    found = counts(results.read_text().splitlines())
    published = whole((HERE.parents[1] / "npukit" / "emulator" / "OPERATORS.md").read_text())
    assert len(published) >= 330
    broken = {name: found.get(name) for name in published if name not in passing(found)}
    assert broken == {}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["llama", "qwen", "deepseek"])
def test_models_answer_as_on_the_cpu(python: Python, model: str) -> None:
    told = python(str(HERE / "emulated_models.py"), model)
    assert told.returncode == 0, told.stderr[-2000:]
    for line in told.stdout.splitlines():
        found = json.loads(line)
        # bf16 attention rounds in other places on the CPU than in a fused kernel
        assert found["same_text"] or "bfloat16" in found["dtype"], found
        assert found["difference"] <= found["allowed"], found
