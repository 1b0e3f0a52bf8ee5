"""vLLM on the files that npukit fetched and patched: which command starts it. Pure, but for ``installed``."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npukit.context import Context
from npukit.errors import NpukitError


@dataclass(frozen=True)
class VllmOptions:
    """``python`` is the interpreter of the environment that has vLLM; 0 leaves a number to vLLM."""

    python: str
    host: str
    port: int
    tensor_parallel: int = 1
    max_length: int = 0


def packages(context: Context) -> tuple[str, ...]:
    """What must be installed for the device."""
    return ("vllm", "vllm_ascend") if context.device.kind == "npu" else ("vllm",)


def check_installed(python: str, names: Sequence[str]) -> None:
    """Raises NpukitError ``serve.no-vllm`` for the first that the interpreter does not find."""
    code = "import sys, importlib.util as u; sys.exit(0 if u.find_spec(sys.argv[1]) else 1)"
    for name in names:
        try:
            found = subprocess.run([python, "-c", code, name], check=False).returncode == 0
        except OSError:
            found = False
        if not found:
            raise NpukitError("serve.no-vllm", package=name, python=python)


def command(context: Context, options: VllmOptions) -> list[str]:
    """The command line. Names of arguments as of vLLM 0.6 to 0.32."""
    arguments = {
        "--model": str(context.directory),
        "--served-model-name": context.recipe.name,
        "--dtype": context.dtype,
        "--host": options.host,
        "--port": str(options.port),
        "--tensor-parallel-size": str(options.tensor_parallel),
        **({"--max-model-len": str(options.max_length)} if options.max_length else {}),
    }
    words = [word for pair in arguments.items() for word in pair]
    trusted = ["--trust-remote-code"] if context.options.trust_remote_code else []
    return [options.python, "-m", "vllm.entrypoints.openai.api_server", *words, *trusted]


def environment(outer: Mapping[str, str], context: Context, key: str) -> dict[str, str]:
    """The server's environment: no hub is asked, the card is the one meant, the key is ours."""
    inner = {**outer, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    inner.pop("PYTHONPATH", None)  # another Python's packages
    if key:
        inner["VLLM_API_KEY"] = key
    visible = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "cuda": "CUDA_VISIBLE_DEVICES"}.get(context.device.kind)
    if visible and context.device.index and visible not in outer:
        inner[visible] = str(context.device.index)
    return inner
