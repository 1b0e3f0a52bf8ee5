"""The worker's environment: set before its Python starts, since torch and CANN read it once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import npukit


def worker_environment(
    sandbox: Path | None, logs: Path, modules: Path | None = None, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The front's environment with what the worker needs; PYTHONPATH is prepended to, never replaced."""
    environment = dict(os.environ)
    own = Path(npukit.__file__).parents[1]
    installed = own.name in ("site-packages", "dist-packages")
    paths = (
        str(sandbox) if sandbox else "",
        environment.get("PYTHONPATH", ""),
        "" if installed else str(own),
    )
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    environment.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")  # torch_npu is imported where it is wanted
    environment.setdefault("ASCEND_PROCESS_LOG_PATH", str(logs / "ascend"))
    environment.setdefault("TOKENIZERS_PARALLELISM", "false")
    environment.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", PYTHONUNBUFFERED="1")
    if modules:  # where transformers puts the copies of a model's own code that it imports
        environment["HF_MODULES_CACHE"] = str(modules)
    cache = environment.get("ASCEND_CACHE_PATH")
    if cache and not Path(cache).is_dir():
        del environment["ASCEND_CACHE_PATH"]  # CANN fails with 500001 where it does not exist
    environment.update(extra or {})
    return environment
