"""Only what a newer result stands in for is spent."""

from __future__ import annotations

from pathlib import Path

from npukit.retention import prune, size_bytes, sizes, superseded
from npukit.workspace import Workspace
from tests.unit.report.sample import result


def test_the_newest_of_every_stage_and_device_stays(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    paths = {}
    for name, device, started in (("old", "cpu", "10"), ("new", "cpu", "11"), ("npu", "npu:0", "09")):
        when = f"2026-01-31T{started}:00:00+00:00"
        paths[name] = workspace.save(result("bench", {}, device=device, key=name, started=when))
    stranger = paths["old"].parent / "torn.json"
    stranger.write_text("{")
    spent = superseded(workspace)
    assert {one.path for one in spent} == {paths["old"], stranger}
    assert sum(one.bytes for one in spent) == size_bytes(paths["old"]) + 1
    prune(spent)
    assert [path for _, path in workspace.results()] == [paths["npu"], paths["new"]]
    assert superseded(workspace) == []


def test_directories_left_empty_go(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    torn = tmp_path / "results" / "small" / "cpu" / "bench" / "x.json"
    torn.parent.mkdir(parents=True)
    torn.write_text("{")
    prune(superseded(workspace, "small"))
    assert list((tmp_path / "results").iterdir()) == []


def test_sizes_do_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "models" / "small").mkdir(parents=True)
    (tmp_path / "models" / "small" / "weights").write_bytes(b"x" * 1000)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "link").symlink_to(tmp_path / "models")
    assert sizes(Workspace(tmp_path)) == {"models/small": 1000, "logs": 0}
