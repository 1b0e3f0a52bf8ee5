"""The overlay: edited copies beside links, made once, undone exactly, the source never written to."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from npukit.errors import NpukitError
from npukit.overlay import PROOF, Composed, compose, current, matching, undo, write
from npukit.patches import Situation, choose

ENTRY = {"name": "config-keys", "set": {"vocab_size": 6400}, "drop": ["index_topk"]}
HERE = Situation("5.24.0")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """As a hub's cache keeps it: names that link to blobs."""
    blobs, source = tmp_path / "blobs", tmp_path / "snapshot"
    (source / "extra").mkdir(parents=True)
    blobs.mkdir()
    files = {
        "config.json": json.dumps({"index_topk": 512, "vocab_size": 1}, indent=2) + "\n",
        "model.safetensors": "weights",
        "modeling_x.py": "x = 1\n",
        "extra/notes.txt": "notes",
    }
    for number, (name, text) in enumerate(files.items()):
        (blobs / str(number)).write_text(text)
        (source / name).symlink_to(blobs / str(number))
    return source


def composed(source: Path, *entries: dict) -> Composed:
    return compose(source, choose(entries or [ENTRY]), HERE)


def digest(directory: Path) -> dict[str, tuple[str, int]]:
    """Content and time of change of everything below, links followed."""
    return {
        str(path.relative_to(directory)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def contents(place: Path) -> dict[str, str]:
    """What a reader of the overlay finds, its record aside."""
    return {name: content for name, (content, _) in digest(place).items() if name != PROOF}


def test_only_what_a_patch_changes_is_a_file_of_its_own(source: Path, tmp_path: Path) -> None:
    before, place = digest(source), tmp_path / "patched"
    overlay = write(composed(source), place, copied=["modeling_x.py"])
    own = [
        str(path.relative_to(place)) for path in place.rglob("*") if path.is_file() and not path.is_symlink()
    ]
    assert sorted(own) == ["config.json", "modeling_x.py", PROOF]
    assert json.loads((place / "config.json").read_text()) == {"vocab_size": 6400}
    assert (place / "extra" / "notes.txt").read_text() == "notes"
    assert overlay.record["before"]["config.json"] == before["config.json"][0]
    assert overlay.after["config.json"] == hashlib.sha256((place / "config.json").read_bytes()).hexdigest()
    assert digest(source) == before


def test_twice_changes_nothing_and_undo_leaves_nothing(source: Path, tmp_path: Path) -> None:
    before, place = digest(tmp_path), tmp_path / "patched"
    write(composed(source), place)
    once, inode = digest(place), os.stat(place).st_ino
    write(composed(source), place)
    assert (digest(place), os.stat(place).st_ino) == (once, inode)
    assert undo(place) == ["config.json"]
    assert undo(place) == []
    after = digest(tmp_path)
    after.pop(".lock")
    assert after == before


def test_a_change_of_source_or_patch_is_noticed(source: Path, tmp_path: Path) -> None:
    place = tmp_path / "patched"
    write(composed(source), place)
    assert matching(composed(source), place)
    assert not matching(composed(source, {**ENTRY, "set": {"vocab_size": 1000}}), place)
    (source / "config.json").unlink()
    (source / "config.json").write_text(json.dumps({"vocab_size": 1, "new": 2}))
    assert not matching(composed(source), place)


@pytest.mark.parametrize("damage", ["edited", "deleted", "link broken", "record torn"])
def test_a_damaged_overlay_is_made_anew(damage: str, source: Path, tmp_path: Path) -> None:
    place = tmp_path / "patched"
    write(composed(source), place)
    whole = contents(place)
    if damage == "edited":
        (place / "config.json").write_text("{}")
    elif damage == "deleted":
        (place / "config.json").unlink()
    elif damage == "link broken":
        (place / "model.safetensors").unlink()
        (place / "model.safetensors").symlink_to(tmp_path / "nowhere")
    else:
        (place / PROOF).write_text("{")
    assert current(place) is None
    write(composed(source), place)
    assert contents(place) == whole


def test_two_at_once_make_one(source: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        first, second = both.map(lambda _: write(composed(source), tmp_path / "patched"), range(2))
    assert first == second


def test_what_npukit_did_not_make_is_not_removed(source: Path, tmp_path: Path) -> None:
    with pytest.raises(NpukitError) as caught:
        undo(source)
    assert caught.value.code == "patch.not-overlay"
    assert (source / "config.json").exists()
