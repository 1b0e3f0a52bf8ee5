import os
import sys
from dataclasses import replace

from npukit.host.machine import LocalHost
from npukit.host.system import cpu_model, system_facts
from tests.fixtures.recorded_host import recorded_host


def python(code):
    return (sys.executable, "-c", code)


def test_a_child_that_ends():
    ran = LocalHost().run(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), 30)
    assert (ran.status, ran.stdout, ran.stderr, ran.timed_out) == (3, "out\n", "err\n", False)


def test_a_child_that_hangs_is_ended_with_its_own_children():
    code = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("begun", flush=True)
time.sleep(600)
"""
    ran = LocalHost().run(python(code), 1)
    assert ran.timed_out and ran.status is None
    assert ran.stdout == "begun\n"  # read to its end: nobody is left to hold the pipe


def test_a_child_that_is_not_there():
    ran = LocalHost().run(("/no/such/program",), 1)
    assert ran.missing and "No such file" in ran.stderr


def test_a_childs_environment_can_be_added_to_and_taken_from():
    host = replace(LocalHost(), environ={**os.environ, "GONE": "1"})
    ran = host.run(
        python("import os; print(os.environ.get('NEW'), os.environ.get('GONE'))"),
        30,
        {"NEW": "2", "GONE": ""},
    )
    assert ran.stdout == "2 None\n"


def test_paths(tmp_path):
    host = LocalHost()
    (tmp_path / "b").write_bytes(b"caf\xff")
    (tmp_path / "a").mkdir()
    assert host.entries(str(tmp_path)) == ("a", "b")
    assert host.entries(str(tmp_path / "none")) == ()
    assert host.read(str(tmp_path / "b")).startswith("caf") and host.read(str(tmp_path / "a")) is None
    assert host.entry(str(tmp_path / "a")).kind == "dir" and host.entry(str(tmp_path / "none")) is None
    assert host.entry("/dev/null").kind == "device"
    assert host.free_bytes(str(tmp_path / "not" / "yet")) > 0


def test_the_machine_under_the_test_can_be_told():
    facts = system_facts()
    assert facts.arch and facts.cores > 0 and facts.memory_bytes > 0 and facts.disk_free_bytes > 0


def test_a_containers_share_counts():
    facts = system_facts(recorded_host("pod_910b"))
    assert facts.cores == 24.0  # 96 are there, the quota gives 24
    assert facts.memory_bytes == 206158430208
    assert (facts.container, facts.cpu, facts.arch) == ("kubernetes", "Kunpeng 920", "aarch64")


def test_cpu_models():
    assert cpu_model("model name\t: Intel(R)  Xeon(R)\n") == "Intel(R) Xeon(R)"
    assert cpu_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n") == "Arm implementer 0x41 part 0xd0c"
    assert cpu_model("") == "unknown"
