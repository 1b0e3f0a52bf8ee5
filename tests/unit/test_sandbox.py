"""What the sandbox decides without pip: requirements met or not, pip's failures told apart, wheels walked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukit.errors import NpukitError
from npukit.sandbox import Package, Shared, lacking
from npukit.sandbox.pip import essence, fault
from npukit.sandbox.plan import conflicts
from npukit.sandbox.shared import Installed, unmet
from npukit.sandbox.wheelhouse import Target, walk
from tests.fixtures.wheels import install

HERE = {
    each.name: each
    for each in (
        Installed("transformers", "4.57.6", ("tokenizers>=0.22", "torch>=2.2; extra == 'torch'")),
        Installed("tokenizers", "0.22.2"),
        Installed("peft", "0.17", ("transformers<5", "not a requirement")),
    )
}


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("transformers>=4.49", []),
        ("Transformers == 4.57.6", []),
        ("transformers==5.7.0", ["transformers==5.7.0: 4.57.6 is installed"]),
        ("httpx", ["httpx: not installed"]),
        ("httpx; python_version < '3'", []),
        ("transformers[torch]", ["torch>=2.2: not installed"]),
    ],
)
def test_a_requirement_is_met_or_it_is_said_why_not(requirement: str, expected: list[str]) -> None:
    assert unmet([requirement], HERE.get) == expected


@given(st.text(max_size=30))
def test_any_text_is_a_requirement_or_an_explained_error(text: str) -> None:
    try:
        found = lacking([text], Shared(path=()))
    except NpukitError as error:
        assert error.code == "sandbox.bad-requirement"
    else:
        assert all("not installed" in each for each in found)


def test_a_local_label_is_left_out_of_the_pins(tmp_path: Path) -> None:
    shared = Shared(path=(str(tmp_path),))
    install(tmp_path, "torch", "2.9.0+cpu")
    assert shared.pins() == ("torch==2.9.0",)


def test_a_shared_package_whose_pin_breaks_is_named() -> None:
    brought = [Package("transformers", "5.7.0", "t.whl", "00", "4.57.6")]
    (found,) = conflicts(brought, HERE.values())
    assert (found.package, found.wants, found.gets) == ("peft 0.17", "transformers<5", "transformers 5.7.0")


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        ("/usr/bin/python: No module named pip", "no-pip"),
        ("no such option: --report", "old-pip"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "hash-mismatch"),
        ("WARNING: Retrying (Retry(total=0, ...\nERROR: No matching distribution found for x", "unreachable"),
        ("ERROR: ResolutionImpossible: for help visit ...", "unresolved"),
        ("ERROR: No matching distribution found for x", "unresolved"),
        ("OSError: [Errno 28] No space left on device", "pip-failed"),
    ],
)
def test_pips_failures_are_told_apart(stderr: str, code: str) -> None:
    assert fault(stderr) == f"sandbox.{code}"
    assert NpukitError(fault(stderr), about="x", detail=essence(stderr)).message("zh").remedy


def test_passwords_of_a_mirror_do_not_reach_a_message() -> None:
    assert "secret" not in essence("ERROR: https://me:secret@mirror.example/simple is gone")


def test_a_closure_goes_around_protected_packages_and_follows_the_targets_markers() -> None:
    rows = {
        "a": {"metadata": {"requires_dist": ["numpy", "b; python_version < '3.11'", "c; extra == 'x'"]}},
        "numpy": {"metadata": {"requires_dist": ["d"]}},
        "b": {"metadata": {}},
    }
    assert walk(["a"], rows, Target("aarch64", "3.12").markers()) == (["a"], [])
    assert walk(["a"], rows, Target("aarch64", "3.10").markers()) == (["a", "b"], [])
    assert walk(["a[x]"], rows, Target("aarch64", "3.12").markers()) == (["a"], ["c"])


@pytest.mark.parametrize(("machine", "python"), [("riscv", ""), ("", "3"), ("aarch64", "3.11.2")])
def test_a_target_nobody_has_is_refused(machine: str, python: str) -> None:
    with pytest.raises(NpukitError) as caught:
        Target(machine, python)
    assert caught.value.code == "sandbox.bad-target"
