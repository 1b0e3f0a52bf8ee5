import hashlib

import pytest

from npukit.errors import NpukitError
from npukit.sources import RemoteFile, Want
from npukit.sources.copies import copies_listing, find_copies, link_copy

IDS = {"huggingface": "openbmb/MiniCPM-V-4.6", "modelscope": "OpenBMB/MiniCPM-V-4.6"}


@pytest.fixture
def user(tmp_path, monkeypatch):
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "MODELSCOPE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def put(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


@pytest.mark.parametrize(
    "folder",
    [
        ".cache/huggingface/hub/models--openbmb--MiniCPM-V-4.6/snapshots/abc",
        ".cache/modelscope/models/OpenBMB--MiniCPM-V-4.6/snapshots/master",
        ".cache/modelscope/hub/models/OpenBMB/MiniCPM-V-4.6",
        ".cache/modelscope/hub/OpenBMB/MiniCPM-V-4___6",
        ".cache/models/minicpm-v-4.6",
        ".cache/models/MiniCPM-V-4.6",
    ],
)
def test_every_layout_is_found(user, folder):
    put(user / folder, config__json="{}")
    assert [copy.root for copy in find_copies(IDS, "minicpm-v-4.6")] == [user / folder]


@pytest.mark.parametrize(
    ("name", "below"), [("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub/")]
)
def test_the_environment_moves_the_cache(user, monkeypatch, name, below):
    monkeypatch.setenv(name, str(user / "moved"))
    root = put(user / f"moved/{below}models--openbmb--MiniCPM-V-4.6/snapshots/abc", config__json="{}")
    assert [copy.root for copy in find_copies(IDS, "x")] == [root]


def test_a_branch_means_the_commit_it_meant_last(user):
    folder = user / ".cache/huggingface/hub/models--openbmb--MiniCPM-V-4.6"
    for commit in ("old", "new", "newest"):
        put(folder / "snapshots" / commit, config__json="{}")
    put(folder / "refs", main="new", v1="old")
    assert next(find_copies(IDS, "x")).root.name == "new"
    named = [copy for copy in find_copies(IDS, "x", "v1") if copy.revision == "v1"]
    assert [copy.root.name for copy in named] == ["old"]


def test_a_hub_that_is_not_among_the_ids_gives_none(user):
    put(user / ".cache/huggingface/hub/models--openbmb--MiniCPM-V-4.6/snapshots/abc", config__json="{}")
    assert not list(find_copies({"modelscope": IDS["modelscope"]}, "x"))


def test_only_the_same_content_is_linked(user):
    copies = list(find_copies({}, "m")) or []
    assert copies == []
    put(user / ".cache/models/m", a__txt="right", b__txt="wrong")
    copies = list(find_copies({}, "m"))
    sha256 = hashlib.sha256(b"right").hexdigest()
    target = user / "files" / "a.txt"
    linked = link_copy(RemoteFile("a.txt", 5, sha256=sha256), target, copies)
    assert target.is_symlink() and linked.sha256 == sha256 and linked.source.startswith("cache:")
    assert link_copy(RemoteFile("b.txt", 5, sha256=sha256), user / "files" / "b.txt", copies) is None
    assert not (user / "files" / "b.txt").exists()


def test_a_copy_without_weights_is_no_model(user):
    put(user / ".cache/models/m", config__json="{}")
    want = Want("m", "o/n", user, copies=tuple(find_copies({}, "m")))
    with pytest.raises(NpukitError) as error:
        copies_listing(want)
    assert error.value.code == "fetch.offline"
    put(user / ".cache/models/m", model__safetensors="w")
    assert [f.path for f in copies_listing(want).files] == ["config.json", "model.safetensors"]


def test_the_blob_names_of_the_hugging_face_cache_are_hashes(user):
    root = put(user / ".cache/models/m", config__json="{}")
    blob = put(user / "blobs", **{"f" * 64: "w"}) / ("f" * 64)
    (root / "model.safetensors").symlink_to(blob)
    want = Want("m", "o/n", user, copies=tuple(find_copies({}, "m")))
    by_path = {f.path: f for f in copies_listing(want).files}
    assert by_path["model.safetensors"].sha256 == "f" * 64
    assert by_path["config.json"].stated == ""
