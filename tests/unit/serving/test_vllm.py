from __future__ import annotations

import sys
from pathlib import Path

import pytest

from npukit.context import Context, Options
from npukit.devices.name import parse_device
from npukit.errors import NpukitError
from npukit.recipe import find_recipe
from npukit.serving.vllm import VllmOptions, check_installed, command, environment, packages
from npukit.workspace import Workspace


def context(tmp_path: Path, device: str = "cpu", **options: object) -> Context:
    chosen = Options(device=parse_device(device), **options)  # type: ignore[arg-type]
    return Context(find_recipe("minimind2"), Workspace(tmp_path), chosen, directory=tmp_path / "patched")


def pairs(words: list[str]) -> dict[str, str]:
    return dict(zip(words[3::2], words[4::2], strict=False))


def test_the_command_serves_the_patched_files_under_the_models_name(tmp_path: Path) -> None:
    words = command(context(tmp_path), VllmOptions("/venv/bin/python", "127.0.0.1", 8000))
    assert words[:3] == ["/venv/bin/python", "-m", "vllm.entrypoints.openai.api_server"]
    assert pairs(words) == {
        "--model": str(tmp_path / "patched"),
        "--served-model-name": "minimind2",
        "--dtype": "float16",
        "--host": "127.0.0.1",
        "--port": "8000",
        "--tensor-parallel-size": "1",
    }


def test_what_a_user_says_is_handed_on(tmp_path: Path) -> None:
    options = VllmOptions("python", "::1", 9000, tensor_parallel=4, max_length=2048)
    words = command(context(tmp_path, dtype="bfloat16", trust_remote_code=True), options)
    assert words[-1] == "--trust-remote-code"
    said = pairs(words)
    assert (said["--dtype"], said["--tensor-parallel-size"]) == ("bfloat16", "4")
    assert said["--max-model-len"] == "2048"


def test_the_environment_asks_no_hub_and_names_the_card(tmp_path: Path) -> None:
    inner = environment({"PYTHONPATH": "/sandbox", "HOME": "/root"}, context(tmp_path, "npu:3"), "key")
    assert inner["HF_HUB_OFFLINE"] == "1"
    assert inner["VLLM_API_KEY"] == "key"
    assert inner["ASCEND_RT_VISIBLE_DEVICES"] == "3"
    assert "PYTHONPATH" not in inner
    masked = environment({"ASCEND_RT_VISIBLE_DEVICES": "5"}, context(tmp_path, "npu:3"), "")
    assert masked["ASCEND_RT_VISIBLE_DEVICES"] == "5"
    assert "VLLM_API_KEY" not in masked


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    assert packages(context(tmp_path, "npu")) == ("vllm", "vllm_ascend")
    assert packages(context(tmp_path)) == ("vllm",)
    check_installed(sys.executable, ("json",))
    for python, names in ((sys.executable, ("json", "no_such_engine")), ("/no/such/python", ("json",))):
        with pytest.raises(NpukitError) as caught:
            check_installed(python, names)
        assert caught.value.code == "serve.no-vllm"
        assert caught.value.fields["package"] == names[-1]
        caught.value.message("zh")
