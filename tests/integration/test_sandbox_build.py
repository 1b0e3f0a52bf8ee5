"""Sandboxes built by the real pip from made-up wheels, offline, beside a made-up shared environment."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from npukit.errors import NpukitError
from npukit.sandbox import Pip, Plan, Sandbox, build, find, plan, remove, required
from npukit.sandbox.proof import PROOF
from npukit.sandbox.wheelhouse import Target, download, opened
from tests.fixtures.wheels import install, write_wheel

WANTED = ("shapes==5.7.0", "corners>=1.5,<2.0")


def digest(directory: Path) -> dict[str, str]:
    return {
        str(each.relative_to(directory)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(directory.rglob("*"))
        if each.is_file()
    }


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    house = tmp_path_factory.mktemp("house")
    write_wheel(
        house, "shapes", "5.7.0", ["corners>=1.5", "numpy>=1.17", "lines>=0.22"], {"round.py": "pi = 3\n"}
    )
    write_wheel(house, "shapes", "6.0.0", ["numpy>=99"])
    write_wheel(house, "corners", "1.33.0", ["wires"])
    write_wheel(house, "wires", "0.28.0", ["olden>=1; python_version < '3.9'"])
    write_wheel(house, "olden", "1.0")
    write_wheel(house, "lines", "0.22.2")
    write_wheel(house, "numpy", "99.0")
    return house


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with the old shapes, seen by this process and by pip alike."""
    directory = tmp_path / "shared"
    install(directory, "shapes", "4.57.6", ["corners<1.0"])
    install(directory, "corners", "0.36.2")
    install(directory, "lines", "0.22.2")
    install(directory, "pictures", "4.0", ["corners<1.0"])
    monkeypatch.syspath_prepend(str(directory))
    monkeypatch.setenv("PYTHONPATH", str(directory))
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "pip"))
    return directory


@pytest.fixture
def pip(house: Path, shared: Path) -> Pip:
    return Pip(wheelhouse=house)


def test_exactly_the_missing_set_is_built_and_the_shared_environment_stays(
    shared: Path, pip: Pip, tmp_path: Path
) -> None:
    before = digest(shared)
    wanted = plan(WANTED, pip=pip)
    assert [(each.name, each.version, each.replaces) for each in wanted.packages] == [
        ("corners", "1.33.0", "0.36.2"),
        ("shapes", "5.7.0", "4.57.6"),
        ("wires", "0.28.0", None),
    ]
    assert [(each.package, each.wants, each.gets) for each in wanted.conflicts] == [
        ("pictures 4.0", "corners<1.0", "corners 1.33.0")
    ]
    box = build(wanted, tmp_path / "boxes", pip=pip)
    seen = subprocess.run(
        [sys.executable, "-c", "import shapes, corners, lines; print(shapes.__version__, lines.__version__)"],
        env={**os.environ, "PYTHONPATH": box.python_path(os.environ["PYTHONPATH"])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.split() == ["5.7.0", "0.22.2"]
    assert find(WANTED, tmp_path / "boxes") == box
    assert digest(shared) == before
    assert build(wanted, tmp_path / "boxes", pip=Pip(wheelhouse=tmp_path)) == box, (
        "found, so pip is not asked"
    )


def test_nothing_is_done_when_what_is_installed_serves(shared: Path) -> None:
    served = plan(("shapes>=4.49", "lines"), pip=Pip(python="/no/such/python"))
    assert not served.needed
    assert served.packages == ()


def test_a_protected_package_is_never_brought(pip: Pip) -> None:
    with pytest.raises(NpukitError) as caught:
        plan(("shapes==6.0.0",), pip=pip)
    assert caught.value.code in ("sandbox.protected", "sandbox.unresolved")
    with pytest.raises(NpukitError, match="numpy"):
        plan(("numpy>=99",), pip=pip)


def test_what_no_index_has_is_said_in_pips_words(pip: Pip) -> None:
    with pytest.raises(NpukitError) as caught:
        plan(("shapes==7.1",), pip=pip)
    assert caught.value.code == "sandbox.unresolved"
    assert "shapes==7.1" in caught.value.message().cause


@pytest.fixture
def built(house: Path, shared: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """A copy of one built sandbox: building takes a second, copying nothing."""
    store = tmp_path_factory.getbasetemp() / "built"
    pip = Pip(wheelhouse=house)
    if not store.exists():
        build(plan(WANTED, pip=pip), store, pip=pip)
    shutil.copytree(store, tmp_path / "boxes")
    box = find(WANTED, tmp_path / "boxes")
    assert box
    return box


def again(box: Sandbox) -> Plan:
    """The plan that ``box`` was built from."""
    return Plan(box.requires, ("as before",), box.packages)


@pytest.mark.parametrize(
    "damage", ["file gone", "file changed", "record changed", "proof torn", "half built"]
)
def test_a_broken_sandbox_is_noticed_and_rebuilt(damage: str, built: Sandbox, pip: Pip) -> None:
    root = built.path.parent
    whole = digest(built.path)
    module = built.path / "shapes" / "round.py"
    if damage == "file gone":
        module.unlink()
    elif damage == "file changed":
        module.write_text("pi = 4\n")  # the same size
    elif damage == "record changed":
        next(built.path.glob("shapes-*/RECORD")).write_text("")
    elif damage == "proof torn":
        (built.path / PROOF).write_text("{")
    else:
        built.path.rename(root / ".building-1234")
    assert find(WANTED, root, deep=True) is None
    assert digest(build(again(built), root, pip=pip).path) == whole
    assert list(root.glob(".building-*")) == []


def test_a_sandbox_is_outdated_when_what_it_took_from_the_shared_side_goes(
    built: Sandbox, shared: Path
) -> None:
    (shared / "lines-0.22.2.dist-info" / "METADATA").write_text("Name: lines\nVersion: 0.21.4\n")
    assert built.faults() == ["lines>=0.22: 0.21.4 is installed"]
    assert find(WANTED, built.path.parent) is None
    with pytest.raises(NpukitError) as caught:
        required(WANTED, built.path.parent)
    assert caught.value.code == "sandbox.missing"


def test_a_sandbox_of_another_python_is_not_taken(built: Sandbox) -> None:
    row = json.loads((built.path / PROOF).read_text())
    (built.path / PROOF).write_text(json.dumps({**row, "interpreter": "cpython-27-vax"}))
    assert find(WANTED, built.path.parent) is None


def test_a_wheel_that_changed_since_it_was_resolved_is_refused(
    built: Sandbox, pip: Pip, tmp_path: Path
) -> None:
    forged = tuple(replace(each, sha256="0" * 64) for each in built.packages)
    with pytest.raises(NpukitError) as caught:
        build(replace(again(built), packages=forged), tmp_path / "other", pip=pip)
    assert caught.value.code == "sandbox.hash-mismatch"
    assert [each for each in (tmp_path / "other").iterdir() if not each.name.startswith(".")] == []


def test_two_at_once_build_one(built: Sandbox, pip: Pip, tmp_path: Path) -> None:
    root = tmp_path / "other"
    with ThreadPoolExecutor(2) as both:
        boxes = list(both.map(lambda _: build(again(built), root, pip=pip), range(2)))
    assert boxes[0] == boxes[1]
    assert len(list(root.glob(f"[!.]*/{PROOF}"))) == 1


def test_removed_means_gone_and_others_stay(built: Sandbox, tmp_path: Path) -> None:
    root = built.path.parent
    other = shutil.copytree(built.path, root / "other")
    row = json.loads((other / PROOF).read_text())
    (other / PROOF).write_text(json.dumps({**row, "requires": ["wires"]}))
    assert remove(root, WANTED) == [built.path]
    (other / PROOF).unlink()
    assert remove(root, ("wires",)) == []
    assert remove(root) == [other]
    assert remove(tmp_path / "nowhere") == []


def test_a_wheelhouse_made_elsewhere_builds_here_and_damage_is_noticed(
    house: Path, shared: Path, tmp_path: Path
) -> None:
    carried = tmp_path / "carried"
    packages = download(WANTED, carried, Target("aarch64", "3.8"), Pip(wheelhouse=house))
    names = [each.name for each in packages]
    assert names == ["corners", "lines", "olden", "shapes", "wires"], "numpy stays out; olden is for 3.8 only"
    pip = Pip(wheelhouse=opened(carried))
    box = build(plan(WANTED, pip=pip), tmp_path / "boxes", pip=pip)
    assert box.versions() == {"corners": "1.33.0", "shapes": "5.7.0", "wires": "0.28.0"}
    (carried / "wires-0.28.0-py3-none-any.whl").write_bytes(b"")
    with pytest.raises(NpukitError, match=r"wires-0\.28\.0"):
        opened(carried)
    with pytest.raises(NpukitError) as caught:
        opened(tmp_path / "nowhere")
    assert caught.value.code == "sandbox.no-wheelhouse"
