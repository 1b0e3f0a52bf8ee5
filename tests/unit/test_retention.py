"""Only what a newer result stands in for is spent."""

from __future__ import annotations

from pathlib import Path

from npukit.retention import prune, size_bytes, sizes, superseded, unused
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


def test_captures_that_the_newest_results_read_stay(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.captures.mkdir()
    for name, key in (("small", "a"), ("small", "b"), ("small", "c"), ("small-chat", "b")):
        (workspace.captures / f"{name}-{key * 16}.safetensors").write_bytes(b"xy")
    for started, reference in (("10", "c" * 64), ("11", "a" * 64)):
        inputs = {"reference": reference, "floor": f'["{"b" * 64}"]'}
        when = f"2026-01-31T{started}:00:00+00:00"
        workspace.save(result("accuracy", {}, key=started, inputs=inputs, started=when))
    names = [one.path.name for one in unused(workspace)]
    assert names == [f"small-{'c' * 16}.safetensors", f"small-chat-{'b' * 16}.safetensors"]
    prune(unused(workspace, "small"))
    assert [one.path.name for one in unused(workspace)] == names[1:]
    prune(unused(workspace))
    assert len(list(workspace.captures.iterdir())) == 2


def test_the_last_capture_leaves_the_workspace(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.captures.mkdir()
    (workspace.captures / f"small-{'a' * 16}.safetensors").write_bytes(b"xy")
    prune(unused(workspace))
    assert list(workspace.captures.iterdir()) == []


def test_sizes_do_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "models" / "small").mkdir(parents=True)
    (tmp_path / "models" / "small" / "weights").write_bytes(b"x" * 1000)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "link").symlink_to(tmp_path / "models")
    assert sizes(Workspace(tmp_path)) == {"models/small": 1000, "logs": 0}
