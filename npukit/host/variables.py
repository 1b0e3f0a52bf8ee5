"""Environment variables that decide what happens on an NPU, and those that point where nothing is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from npukit.host.machine import Host
from npukit.host.verdict import Fix, Verdict, Voice

MASK = "ASCEND_RT_VISIBLE_DEVICES"
# Directories that CANN does not create (its documentation from 8.0 on): they must exist and be writable.
DIRECTORIES = (
    "ASCEND_CACHE_PATH",
    "ASCEND_WORK_PATH",
    "ASCEND_PROCESS_LOG_PATH",
    "ACL_OP_COMPILER_CACHE_DIR",
)
ENDPOINTS = ("HF_ENDPOINT", "MODELSCOPE_ENDPOINT")
# What is told of the environment: an allow-list, so that no token can be among it.
TOLD = (
    MASK,
    "ASCEND_VISIBLE_DEVICES",
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
    "ATB_HOME_PATH",
    *DIRECTORIES,
    "ASCEND_LAUNCH_BLOCKING",
    "ASCEND_GLOBAL_LOG_LEVEL",
    "ASCEND_SLOG_PRINT_TO_STDOUT",
    "TASK_QUEUE_ENABLE",
    "PYTORCH_NPU_ALLOC_CONF",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "TORCH_NPU_USE_COMPATIBLE_IMPL",
    "CPU_AFFINITY_CONF",
    "INF_NAN_MODE_ENABLE",
    "HCCL_IF_BASE_PORT",
    "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    *ENDPOINTS,
    "HF_HUB_OFFLINE",
    "HF_HUB_DISABLE_XET",
    "HF_HOME",
    "TRANSFORMERS_OFFLINE",
    "MODELSCOPE_CACHE",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PYTHONPATH",
)


@dataclass(frozen=True)
class Variables:
    """``absent`` and ``unwritable`` are directories that variables name; ``stubs`` are link-time ones."""

    told: Mapping[str, str]
    absent: Mapping[str, str]
    unwritable: Mapping[str, str]
    stubs: tuple[str, ...] = ()
    work_directory_writable: bool = True


def variables(host: Host) -> Variables:
    named = {name: host.environ[name] for name in DIRECTORIES if host.environ.get(name)}
    entries = {name: host.entry(path) for name, path in named.items()}
    path = host.environ.get("LD_LIBRARY_PATH", "").split(":")
    here = host.entry(".")
    return Variables(
        told={name: host.environ[name] for name in TOLD if name in host.environ},
        absent={name: named[name] for name, entry in entries.items() if entry is None},
        unwritable={name: named[name] for name, entry in entries.items() if entry and not entry.writable},
        stubs=tuple(place for place in path if re.search(r"/stub(/|$)", place)),
        work_directory_writable=here is not None and here.writable,
    )


def judge_variables(seen: Variables, chips: int, npu: bool, voice: Voice) -> list[Verdict]:
    """``chips`` are those the driver shows (0: unknown); ``npu`` tells whether anything speaks for an NPU."""
    verdicts = _judge_mask(seen.told.get(MASK), chips, voice) if npu else []
    for name, path in seen.absent.items():
        quoted = shlex.quote(path)
        verdicts.append(voice.warn("variables.no_directory", Fix("mkdir", path), name=name, path=quoted))
    for name, path in seen.unwritable.items():
        verdicts.append(voice.fail("variables.unwritable", name=name, path=path))
    if npu and not seen.work_directory_writable and "ASCEND_WORK_PATH" not in seen.told:
        verdicts.append(voice.warn("variables.work_directory"))
    if seen.stubs:
        rest = [place for place in seen.told["LD_LIBRARY_PATH"].split(":") if place not in seen.stubs]
        line = f'export LD_LIBRARY_PATH="{":".join(rest)}"'
        verdicts.append(
            voice.warn("variables.stubs", Fix("line", line), places=", ".join(seen.stubs), line=line)
        )
    verdicts += _judge_settings(seen.told, npu, voice)
    if not verdicts:
        names = [name for name in seen.told if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")]
        text = f"set and sound: {', '.join(names)}" if names else "none set, none needed"
        verdicts.append(voice.ok("variables.sound", text))
    return verdicts


def _judge_mask(mask: str | None, chips: int, voice: Voice) -> list[Verdict]:
    """torch_npu reads the mask silently: what it does not like makes cards vanish, not an error."""
    if mask is None:
        return []
    parts = [part.strip() for part in mask.split(",")]
    if not all(part.isdigit() for part in parts):
        return [voice.fail("variables.mask_unreadable", mask=mask)]
    ids = [int(part) for part in parts]
    good = sorted({number for number in ids if not chips or number < chips})
    line = f"export {MASK}={','.join(str(number) for number in good)}"
    if good != sorted(set(ids)):
        fixes = (Fix("line", line),) if good else ()
        advice = line if good else f"unset {MASK}"
        return [voice.fail("variables.mask_range", *fixes, mask=mask, last=chips - 1, line=advice)]
    if ids != good:
        return [voice.fail("variables.mask_order", Fix("line", line), mask=mask, line=line)]
    return []


def _judge_settings(told: Mapping[str, str], npu: bool, voice: Voice) -> list[Verdict]:
    verdicts = []
    allocator = told.get("PYTORCH_NPU_ALLOC_CONF", "")
    if re.search(r"expandable_segments:\s*True", allocator, re.IGNORECASE) and re.search(
        r"max_split_size_mb|garbage_collection_threshold", allocator
    ):
        line = "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True"
        verdicts.append(voice.fail("variables.allocator", Fix("line", line), value=allocator, line=line))
    if told.get("TASK_QUEUE_ENABLE", "1") not in ("0", "1", "2"):
        verdicts.append(voice.warn("variables.task_queue", value=told["TASK_QUEUE_ENABLE"]))
    if told.get("TASK_QUEUE_ENABLE") == "0":
        verdicts.append(voice.warn("variables.task_queue_off"))
    if told.get("ASCEND_LAUNCH_BLOCKING") == "1":
        verdicts.append(voice.warn("variables.blocking"))
    if told.get("ASCEND_GLOBAL_LOG_LEVEL") in ("0", "1") or told.get("ASCEND_SLOG_PRINT_TO_STDOUT") == "1":
        verdicts.append(voice.warn("variables.logging"))
    if npu and told.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        verdicts.append(voice.info("variables.autoload_off"))
    for name in ENDPOINTS:
        if told.get(name) and not re.match(r"https?://", told[name]):
            line = f"export {name}=https://{told[name]}"
            verdicts.append(
                voice.warn("variables.endpoint", Fix("line", line), name=name, value=told[name], line=line)
            )
    offline = [
        name for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE") if told.get(name, "0") not in ("0", "")
    ]
    if offline:
        verdicts.append(voice.info("variables.offline", names=", ".join(offline)))
    return verdicts
