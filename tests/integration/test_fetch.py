"""`npukit fetch` against hubs on loopback: whole and proven, or a clear error, whatever goes wrong."""

import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from npukit.cli.app import main
from npukit.proof import load
from npukit.workspace import Workspace
from tests.fixtures.hub_mirror import Faults, host_in_git, serving

REPO = "owner/name"
MODEL = "thing"
NOWHERE = "http://127.0.0.1:9"  # discard: nothing listens
WEIGHTS = "model.safetensors"
MIB = 1 << 20


def make_model(root: Path, size: int) -> dict[str, bytes]:
    """A hub repository; its contents by path."""
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    contents = {
        "config.json": b'{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}',
        "sub/merges.txt": b"a b",
        "tokenizer.json": json.dumps({"vocab": list(range(5000))}).encode(),
        WEIGHTS: struct.pack("<Q", len(header)) + header + random.Random(1).randbytes(size),
        "pytorch_model.bin": b"not fetched: there are safetensors",
    }
    for path, data in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    del contents["pytorch_model.bin"]
    return contents


@pytest.fixture(scope="session")
def hub_root(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    contents = make_model(root / REPO, 24 * MIB)
    host_in_git(root, REPO)
    return root, contents


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's machine with nothing on it and no hub; gives npukit's home."""
    for name in ("HF_HOME", "MODELSCOPE_CACHE", "XDG_CACHE_HOME", "NPUKIT_HOME", "HOME", "NPUKIT_RECIPES"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in (
        "HF_HUB_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "HF_TOKEN",
        "MODELSCOPE_API_TOKEN",
        "GITCODE_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("HF_ENDPOINT", "MODELSCOPE_ENDPOINT", "GITCODE_ENDPOINT"):
        monkeypatch.setenv(name, NOWHERE)
    (tmp_path / "home").mkdir()
    recipe = tmp_path / "npukit_recipes" / f"{MODEL}.toml"
    recipe.parent.mkdir()
    recipe.write_text(
        f'name = "{MODEL}"\ntitle = "Thing"\ntask = "text-generation"\n'
        f'[source]\norder = ["huggingface", "modelscope", "gitcode"]\n'
        f'huggingface = "{REPO}"\nmodelscope = "{REPO}"\ngitcode = "hf_mirrors/{REPO}"\n'
        f"[expect]\ntensors = 1\nparameters = {24 * MIB}\n"
        '[[prompts]]\nid = "p"\ntext = "hello"\n'
    )
    return tmp_path / "npukit_home"


ENDPOINTS = {
    "huggingface": "HF_ENDPOINT",
    "modelscope": "MODELSCOPE_ENDPOINT",
    "gitcode": "GITCODE_ENDPOINT",
}


@pytest.fixture
def hub(hub_root, home, monkeypatch):
    """A mirror that plays the hubs named, the others being down: hub("modelscope", Faults(...))."""
    open_ones = []

    def start(*names, faults=None):
        context = serving(hub_root[0], faults)
        mirror = context.__enter__()
        open_ones.append(context)
        for name in names:
            monkeypatch.setenv(ENDPOINTS[name], mirror.url)
        return mirror

    yield start
    for context in open_ones:
        context.__exit__(None, None, None)


def run(capfd, *arguments):
    """(status, document, stderr) of one command line."""
    status = main([*arguments, "--json", "--lang", "en"])
    out, err = capfd.readouterr()
    return status, json.loads(out), err


def fetched(home, contents, model=MODEL):
    """The proof, after comparing every byte with what the hub has."""
    proof = load(Workspace(home).model_dir(model))
    assert {f.path for f in proof.files} == set(contents)
    for path, data in contents.items():
        assert proof.path(path).read_bytes() == data
    return proof


def asked_for(mirror, path):
    return [line for line in mirror.log if path in line and line.startswith("GET") and "bytes=" in line]


@pytest.mark.parametrize("name", ENDPOINTS)
def test_each_hub_gives_a_whole_model_once(hub, hub_root, home, capfd, name):
    mirror = hub(name)
    status, document, _ = run(capfd, "fetch", MODEL, "--source", name)
    assert status == 0 and document["passed"]
    proof = fetched(home, hub_root[1])
    assert proof.whole and [source.partition(":")[0] for source in proof.sources] == [name]
    assert proof.file(WEIGHTS).stated == "sha256"
    assert not (Workspace(home).model_dir(MODEL) / "parts").exists()
    mirror.log.clear()
    status, document, _ = run(capfd, "fetch", MODEL)
    assert status == 0 and document["reused"] and not mirror.log


def test_the_next_hub_is_used_and_the_reason_is_said(hub, hub_root, home, capfd):
    hub("gitcode")
    status, _, err = run(capfd, "fetch", MODEL)
    assert status == 0
    assert "huggingface" in err and "trying modelscope" in err and "trying gitcode" in err
    assert fetched(home, hub_root[1]).sources[0].startswith("gitcode:")


def test_no_hub_is_a_clear_error(home, capfd):
    status, document, _ = run(capfd, "fetch", MODEL)
    error = document["error"]
    assert (status, error["code"]) == (4, "fetch.no-source")
    assert all(name in error["what"] for name in ENDPOINTS)
    assert "HF_ENDPOINT" in error["remedy"]


def test_only_forbids_another_source(hub, home, tmp_path, capfd):
    hub("modelscope")
    recipe = tmp_path / "npukit_recipes" / f"{MODEL}.toml"
    recipe.write_text(recipe.read_text().replace("[source]\n", '[source]\nonly = ["huggingface"]\n'))
    status, document, _ = run(capfd, "fetch", MODEL)
    assert (status, document["error"]["code"]) == (4, "fetch.unreachable")


@pytest.mark.parametrize("ranges", [True, False])
def test_a_connection_dropped_anywhere_is_resumed(hub, hub_root, home, capfd, ranges):
    size = len(hub_root[1][WEIGHTS])
    cuts = [0, 1, 4096, 2 * MIB, 2 * MIB + 1, size // 2, size - 1]
    mirror = hub("huggingface", faults=Faults(drop={WEIGHTS: list(cuts), "config.json": [3]}, ranges=ranges))
    status, _, _ = run(capfd, "fetch", MODEL)
    assert status == 0
    assert mirror.faults.drop == {WEIGHTS: [], "config.json": []}
    assert fetched(home, hub_root[1]).sources[0].startswith("huggingface:")


def test_wrong_bytes_of_the_right_size_are_not_taken(hub, hub_root, home, capfd):
    hub("huggingface", faults=Faults(corrupt={WEIGHTS}))
    hub("modelscope")
    status, _, err = run(capfd, "fetch", MODEL)
    assert status == 0 and "not what the listing states" in err
    by_path = {file.path: file.source.partition(":")[0] for file in fetched(home, hub_root[1]).files}
    assert by_path[WEIGHTS] == "modelscope"


@pytest.mark.parametrize(
    ("faults", "code"),
    [
        (Faults(corrupt={WEIGHTS}), "fetch.corrupt"),
        (Faults(shrink={WEIGHTS}), "fetch.changed"),
        (Faults(status={WEIGHTS: 404}), "fetch.changed"),
        (Faults(status={WEIGHTS: 403}), "fetch.denied"),
        (Faults(stall={WEIGHTS}), "fetch.stalled"),
        (Faults(extra=["../../evil"]), "fetch.unsafe-path"),
        (Faults(extra=["/etc/evil"]), "fetch.unsafe-path"),
    ],
)
def test_what_goes_wrong_has_a_name_and_leaves_no_proof(hub, home, tmp_path, capfd, faults, code):
    hub("modelscope", faults=faults)
    status, document, _ = run(capfd, "fetch", MODEL, "--source", "modelscope", "--stall", "1")
    assert (status, document["error"]["code"]) == (4, code)
    assert load(Workspace(home).model_dir(MODEL)) is None
    assert not list(tmp_path.rglob("evil"))


def test_a_stalled_hub_makes_way_for_the_next_which_goes_on_with_the_part(hub, hub_root, home, capfd):
    hub("huggingface", faults=Faults(stall={WEIGHTS}))
    hub("modelscope")
    status, _, err = run(capfd, "fetch", MODEL, "--stall", "1")
    assert status == 0 and "no byte of model.safetensors" in err
    fetched(home, hub_root[1])


def test_a_file_replaced_after_the_listing_is_noticed_and_the_next_fetch_is_right(
    tmp_path, home, monkeypatch, capfd
):
    make_model(tmp_path / "moving" / REPO, MIB)
    with serving(tmp_path / "moving") as mirror:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", mirror.url)
        assert run(capfd, "fetch", f"ms:{REPO}")[0] == 0
        contents = make_model(tmp_path / "moving" / REPO, MIB + 8)
        assert run(capfd, "fetch", f"ms:{REPO}")[1]["reused"]
        assert run(capfd, "fetch", f"ms:{REPO}", "--force")[0] == 0
        fetched(home, contents, "owner--name")


def test_recheck_finds_and_repair_mends_only_what_is_wrong(hub, hub_root, home, capfd):
    mirror = hub("huggingface")
    assert run(capfd, "fetch", MODEL)[0] == 0
    target = Workspace(home).model_dir(MODEL) / "files" / WEIGHTS
    stat = target.stat()
    with target.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        last = stream.read(1)
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([last[0] ^ 1]))
    os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as rotten bits do: no trace but the bytes
    status, document, _ = run(capfd, "fetch", MODEL, "--recheck")
    assert status == 1 and not document["passed"]
    assert [fault["kind"] for fault in document["faults"]] == ["sha256"]
    mirror.log.clear()
    assert run(capfd, "fetch", MODEL, "--repair")[0] == 0
    fetched(home, hub_root[1])
    assert asked_for(mirror, WEIGHTS) and not asked_for(mirror, "tokenizer.json")
    assert run(capfd, "fetch", MODEL, "--recheck")[0] == 0


def test_repair_never_touches_a_directory_that_is_not_ours(tmp_path, home, capfd):
    make_model(tmp_path / "mine", 1000)
    assert run(capfd, "fetch", str(tmp_path / "mine"))[0] == 0
    (tmp_path / "mine" / "config.json").write_text("{}")
    status, document, _ = run(capfd, "fetch", str(tmp_path / "mine"), "--repair")
    assert (status, document["error"]["code"]) == (4, "fetch.in-place")
    assert (tmp_path / "mine" / "config.json").read_text() == "{}"


def test_nothing_fetched_cannot_be_rechecked(home, capfd):
    status, document, _ = run(capfd, "fetch", MODEL, "--recheck")
    assert (status, document["error"]["code"]) == (4, "fetch.not-fetched")


def test_a_dry_run_lists_and_writes_no_file(hub, home, capfd):
    mirror = hub("huggingface")
    status, document, _ = run(capfd, "fetch", MODEL, "--dry-run")
    assert status == 0
    rows = {row["path"]: row for row in document["files"]}
    assert len(rows[WEIGHTS]["sha256"]) == 64 and not rows[WEIGHTS]["here"]
    assert document["download_bytes"] == document["bytes"] > 24 * MIB
    assert document["rate_bytes_per_s"] > 0 and document["seconds"] > 0 and document["free_bytes"] > 0
    assert mirror.served[WEIGHTS] < 20 * MIB
    assert not home.exists()


def test_include_and_exclude_choose_files(hub, home, capfd):
    hub("huggingface")
    run(capfd, "fetch", MODEL, "--include", "*.json", "--exclude", "tok*")
    assert [file.path for file in load(Workspace(home).model_dir(MODEL)).files] == ["config.json"]
    status, document, _ = run(capfd, "fetch", MODEL, "--include", "nothing*", "--source", "huggingface")
    assert (status, document["error"]["code"]) == (4, "fetch.nothing")


@pytest.mark.parametrize("name", ["huggingface", "gitcode"])
def test_a_revision_that_is_not_there_is_told(hub, home, capfd, name):
    hub(name)
    status, document, _ = run(capfd, "fetch", MODEL, "--source", name, "--revision", "v9")
    assert (status, document["error"]["code"]) == (4, "fetch.not-found")
    assert "v9" in document["error"]["what"]


def test_wrong_sources_are_told(home, capfd):
    status, document, _ = run(capfd, "fetch", MODEL, "--source", "huggingfce")
    assert (status, document["error"]["code"]) == (2, "fetch.unknown-source")
    status, document, _ = run(capfd, "fetch", MODEL, "--source", "pypi")
    assert (status, document["error"]["code"]) == (2, "fetch.no-id")


SECRET = "hf_abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("name", ["huggingface", "modelscope"])
def test_a_token_opens_the_hub_and_is_seen_nowhere(hub, hub_root, home, tmp_path, capfd, name):
    hub(name, faults=Faults(token=SECRET))
    status, document, _ = run(capfd, "fetch", MODEL, "--source", name)
    assert status == 4 and document["error"]["code"] in ("fetch.denied", "fetch.not-found")
    assert main(["fetch", MODEL, "--source", name, "--token", SECRET]) == 0
    fetched(home, hub_root[1])
    out, err = capfd.readouterr()
    assert SECRET not in out + err
    for path in home.rglob("*.json"):
        assert SECRET not in path.read_text()


@pytest.mark.parametrize(("name", "way"), [("huggingface", "resolve/"), ("modelscope", "FilePath=")])
def test_a_token_stays_behind_when_the_hub_sends_elsewhere(hub, hub_root, home, name, way):
    storage = hub()
    elsewhere = storage.url.replace("127.0.0.1", "localhost")
    mirror = hub(name, faults=Faults(redirect=elsewhere, token=SECRET))
    assert main(["fetch", MODEL, "--source", name, "--token", SECRET]) == 0
    fetched(home, hub_root[1])
    assert mirror.signed and storage.served and not storage.signed
    # the address that the hub gave once serves the other ranges
    assert len([line for line in mirror.log if way in line and WEIGHTS in line]) == 1


def real_client(code, **environment):
    """Run the hubs' own clients in a process of their own: they read their endpoints when imported."""
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, **environment}, capture_output=True
    )


def test_the_hugging_face_cache_is_used_without_a_download(hub, hub_root, home, capfd):
    mirror = hub("huggingface")
    real_client(f"import huggingface_hub as h; h.snapshot_download({REPO!r}, ignore_patterns='*.bin')")
    mirror.log.clear()
    assert run(capfd, "fetch", MODEL)[0] == 0
    proof = fetched(home, hub_root[1])
    assert not asked_for(mirror, "resolve")
    assert all(source.startswith("cache:") for source in proof.sources)
    assert (proof.root / WEIGHTS).is_symlink() and os.environ["HF_HOME"] in str(
        (proof.root / WEIGHTS).resolve()
    )


def test_a_wrong_copy_in_a_cache_is_left_alone_and_not_used(hub, hub_root, home, capfd):
    mirror = hub("huggingface")
    real_client(f"import huggingface_hub as h; h.snapshot_download({REPO!r}, ignore_patterns='*.bin')")
    blob = next(Path(os.environ["HF_HOME"]).rglob(f"snapshots/*/{WEIGHTS}")).resolve()
    wrong = bytearray(blob.read_bytes())
    wrong[-1] ^= 1
    blob.write_bytes(wrong)
    mirror.log.clear()
    assert run(capfd, "fetch", MODEL)[0] == 0
    assert "cache" not in fetched(home, hub_root[1]).file(WEIGHTS).source
    assert blob.read_bytes() == wrong
    shutil.rmtree(home)
    status, document, _ = run(capfd, "fetch", MODEL, "--offline")
    assert (status, document["error"]["code"]) == (4, "fetch.offline")


def test_offline_takes_a_copy_or_says_there_is_none(hub, hub_root, home, capfd):
    mirror = hub("huggingface")
    status, document, _ = run(capfd, "fetch", MODEL, "--offline")
    assert (status, document["error"]["code"]) == (4, "fetch.offline")
    real_client(f"import huggingface_hub as h; h.snapshot_download({REPO!r}, ignore_patterns='*.bin')")
    mirror.log.clear()
    assert run(capfd, "fetch", MODEL, "--offline")[0] == 0
    assert fetched(home, hub_root[1]).file(WEIGHTS).stated == "sha256"
    assert not mirror.log


def test_a_copy_serves_when_every_hub_is_down(hub, hub_root, home, monkeypatch, capfd):
    hub("modelscope")
    pytest.importorskip("modelscope_hub")
    real_client(f"from modelscope_hub import HubApi; HubApi().download_repo({REPO!r}, 'model')")
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", NOWHERE)
    status, _, err = run(capfd, "fetch", MODEL)
    assert status == 0 and "taking the copy in" in err
    fetched(home, hub_root[1])


def test_another_command_takes_a_copy_and_never_downloads_unasked(hub, hub_root, home, tmp_path, capfd):
    mirror = hub("huggingface")
    status, document, _ = run(capfd, "patch", MODEL)
    assert (status, document["error"]["code"]) == (document["error"]["exit_status"], "stage.needs")
    shutil.copytree(hub_root[0] / REPO, tmp_path / "home" / ".cache" / "models" / MODEL)
    assert run(capfd, "patch", MODEL)[0] == 0
    fetched(home, hub_root[1])
    assert not mirror.log


def test_a_copy_where_published_adaptations_put_it_is_used(hub, hub_root, home, tmp_path, capfd):
    mirror = hub("huggingface")
    shutil.copytree(hub_root[0] / REPO, tmp_path / "home" / ".cache" / "models" / MODEL)
    assert run(capfd, "fetch", MODEL)[0] == 0
    fetched(home, hub_root[1])
    assert not asked_for(mirror, "resolve")


def test_a_recipe_s_assets_are_fetched_with_it(hub, home, tmp_path, capfd):
    mirror = hub("huggingface")
    picture = b'{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}'
    recipe = tmp_path / "npukit_recipes" / f"{MODEL}.toml"
    asset = f'[[assets]]\nname = "two-cats.png"\nurl = "{mirror.url}/{REPO}/resolve/main/config.json"\n'
    sha256 = hashlib.sha256(picture).hexdigest()
    recipe.write_text(recipe.read_text() + f'{asset}bytes = {len(picture)}\nsha256 = "{sha256}"\n')
    assert run(capfd, "fetch", MODEL)[0] == 0
    kept = Workspace(home).assets(MODEL) / "two-cats.png"
    assert kept.read_bytes() == picture
    kept.write_bytes(b"rotten")
    assert run(capfd, "fetch", MODEL, "--force")[0] == 0
    assert kept.read_bytes() == picture
    recipe.write_text(recipe.read_text().replace(sha256, "0" * 64))
    status, document, _ = run(capfd, "fetch", MODEL, "--force")
    assert (status, document["error"]["code"]) == (4, "fetch.corrupt")


def test_a_home_that_cannot_be_written_is_told(hub, tmp_path, home, monkeypatch, capfd):
    hub("huggingface")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NPUKIT_HOME", str(tmp_path / "file" / "home"))
    status, document, _ = run(capfd, "fetch", MODEL)
    assert (status, document["error"]["code"]) == (4, "workspace.unwritable")


def test_a_disk_too_small_is_told_before_the_first_byte(hub, home, monkeypatch, capfd):
    mirror = hub("huggingface")
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=MIB))
    status, document, _ = run(capfd, "fetch", MODEL)
    assert (status, document["error"]["code"]) == (4, "fetch.disk-full")
    assert not mirror.served


def command(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "npukit", "fetch", MODEL, "--json", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_at_once_fetch_once(hub, hub_root, home):
    mirror = hub("huggingface", faults=Faults(slow={WEIGHTS: 30 * MIB}))
    both = [command(), command()]
    outcomes = [(*process.communicate(timeout=120), process.returncode) for process in both]
    assert [status for _, _, status in outcomes] == [0, 0]
    assert any("another fetch" in err for _, err, _ in outcomes)
    fetched(home, hub_root[1])
    assert mirror.served[WEIGHTS] == len(hub_root[1][WEIGHTS])


def test_killed_at_ten_moments_it_goes_on_and_ends_byte_identical(hub, hub_root, home):
    size = len(hub_root[1][WEIGHTS])
    mirror = hub("huggingface", faults=Faults(slow={WEIGHTS: 3 * MIB, "tokenizer.json": MIB // 8}))
    files = Workspace(home).model_dir(MODEL) / "files"
    moments = random.Random(7)
    for _ in range(10):
        before, whole = sum(mirror.served.values()), [p.name for p in files.rglob("*") if p.is_file()]
        mirror.log.clear()
        process = command()
        goal = before + moments.randrange(1, 2 * MIB)
        while process.poll() is None and sum(mirror.served.values()) < goal:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not any(asked_for(mirror, name) for name in whole)
    mirror.faults.slow.clear()
    parts = {p: p.stat().st_size for p in (files.parent / "parts").rglob("*") if p.is_file()}
    assert sum(parts.values()) > MIB
    mirror.served.clear()
    last = command()
    _, err = last.communicate(timeout=120)
    assert last.returncode == 0, err
    fetched(home, hub_root[1])
    had = next(size for path, size in parts.items() if WEIGHTS in path.name)
    assert mirror.served[WEIGHTS] <= size - had + MIB  # what a killed client's socket still took is counted


def test_an_interrupt_ends_at_once_and_keeps_the_part(hub, home):
    mirror = hub("huggingface", faults=Faults(slow={WEIGHTS: MIB}))
    process = command()
    while not mirror.served.get(WEIGHTS):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert list((Workspace(home).model_dir(MODEL) / "parts").rglob(f"{WEIGHTS}.*"))


def test_threads_end_with_the_fetch(hub, home, capfd):
    before = {*threading.enumerate()}
    mirror = hub("huggingface", faults=Faults(status={"config.json": 404}))
    assert run(capfd, "fetch", MODEL, "--source", "huggingface")[0] == 4
    assert mirror.log
    for thread in {*threading.enumerate()} - before:
        if thread.name.endswith("(_run)"):
            thread.join(5)
        assert not thread.is_alive() or not thread.name.endswith("(_run)")


@pytest.mark.parametrize("options", [("--include", "config*"), ("--exclude", "*.safetensors")])
def test_choosing_a_part_neither_fails_nor_removes_the_rest(hub, home, capfd, options):
    """A recipe's counts are of the whole model; whole files stay for the next fetch."""
    mirror = hub("huggingface")
    assert run(capfd, "fetch", MODEL)[0] == 0
    served = mirror.served[WEIGHTS]
    status, document, _ = run(capfd, "fetch", MODEL, *options)
    assert status == 0 and [check["id"] for check in document["checks"]] == ["fetch.whole"]
    assert run(capfd, "fetch", MODEL, "--recheck")[0] == 0
    status, document, _ = run(capfd, "fetch", MODEL)
    assert status == 0 and {check["id"] for check in document["checks"]} > {"fetch.tensors"}
    assert mirror.served[WEIGHTS] == served


def test_a_dry_run_tells_that_the_disk_is_too_small(hub, home, capfd, monkeypatch):
    hub("huggingface")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))
    assert main(["fetch", MODEL, "--dry-run"]) == 0
    assert "too small" in capfd.readouterr().out


def test_each_reason_names_its_source_once(hub, home, capfd):
    hub("huggingface", faults=Faults(corrupt={WEIGHTS}))
    status, document, told = run(capfd, "fetch", MODEL)
    assert status == 4 and "huggingface: huggingface:" not in document["error"]["what"] + told
