"""The machine under everything: system, processor, Python, memory, disk."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass

from npukit.host.machine import Host, LocalHost
from npukit.host.verdict import Fix, Verdict, Voice

# Two machines of Ascend pods name no model in /proc/cpuinfo; the Arm implementer and part numbers do (Linux,
# arch/arm64/include/asm/cputype.h).
ARM_PARTS = {("0x48", "0xd01"): "Kunpeng 920", ("0x48", "0xd02"): "Kunpeng 920 (second edition)"}
UNLIMITED_BYTES = 1 << 60
GIB = 1 << 30
PYTHON_RANGE = ((3, 10), (3, 13))
LEAST_MEMORY_BYTES = 8 * GIB  # a 1.3 B model in float32 as the CPU reference, and room to load it
LEAST_DISK_BYTES = 20 * GIB  # a few models of that size and a sandbox


@dataclass(frozen=True)
class SystemFacts:
    """Sizes in bytes. ``cores`` are those this process may use, a container's share counted in."""

    os: str
    kernel: str
    arch: str
    python: str
    cpu: str
    cores: float
    memory_bytes: int
    memory_available_bytes: int
    disk_free_bytes: int | None
    container: str
    named_user: bool = True


def system_facts(host: Host | None = None, disk_path: str = ".") -> SystemFacts:
    host = host or LocalHost()
    meminfo = host.read("/proc/meminfo") or ""
    total = _kib(meminfo, "MemTotal")
    limit = _memory_limit_bytes(host)
    return SystemFacts(
        os=_os_name(host),
        kernel=_kernel(host),
        arch=_arch(host),
        python=host.python_version,
        cpu=cpu_model(host.read("/proc/cpuinfo") or ""),
        cores=_cores(host),
        memory_bytes=min(total, limit) if total else 0,
        memory_available_bytes=min(_kib(meminfo, "MemAvailable"), limit),
        disk_free_bytes=host.free_bytes(disk_path),
        container=_container(host),
        named_user=_named_user(host),
    )


def judge_system(seen: SystemFacts, voice: Voice) -> list[Verdict]:
    where = f", {seen.container} container" if seen.container else ""
    machine = f"{seen.os}, {seen.arch}, Python {seen.python}{where}"
    memory = f"{seen.memory_bytes / GIB:.1f} GiB memory ({seen.memory_available_bytes / GIB:.1f} free)"
    disk = (
        f"{seen.disk_free_bytes / GIB:.0f} GiB disk free"
        if seen.disk_free_bytes is not None
        else "disk unknown"
    )
    verdicts = [
        voice.ok("system.machine", machine),
        voice.ok("system.resources", f"{seen.cores:g} cores ({seen.cpu}), {memory}, {disk}"),
    ]
    low, high = PYTHON_RANGE
    if not low <= tuple(int(part) for part in seen.python.split(".")[:2]) <= high:
        verdicts[0] = voice.warn("system.python", seen=machine)
    if seen.memory_available_bytes < LEAST_MEMORY_BYTES:
        verdicts.append(voice.warn("system.memory", free=f"{seen.memory_available_bytes / GIB:.1f}"))
    if seen.disk_free_bytes is not None and seen.disk_free_bytes < LEAST_DISK_BYTES:
        verdicts.append(voice.warn("system.disk", free=f"{seen.disk_free_bytes / GIB:.1f}"))
    if not seen.named_user:
        verdicts.append(voice.warn("system.user", Fix("line", "export USER=npukit LOGNAME=npukit")))
    return verdicts


def cpu_model(cpuinfo: str) -> str:
    """The processor's name from the text of /proc/cpuinfo."""
    fields = dict(re.findall(r"^([^:\n]*?)\s*:[ \t]*(.*?)\s*$", cpuinfo, re.MULTILINE))
    part = (fields.get("CPU implementer", ""), fields.get("CPU part", ""))
    named = fields.get("model name") or fields.get("Model Name") or ARM_PARTS.get(part)
    if named:
        return re.sub(r"\s+", " ", named)
    return f"Arm implementer {part[0]} part {part[1]}" if all(part) else "unknown"


def _os_name(host: Host) -> str:
    release = host.read("/etc/os-release") or ""
    named = re.search(r'^PRETTY_NAME="?([^"\n]*)"?', release, re.MULTILINE)
    return named.group(1) if named else platform.system()


def _kernel(host: Host) -> str:
    return (host.read("/proc/sys/kernel/osrelease") or platform.release()).strip()


def _arch(host: Host) -> str:
    return (host.read("/proc/sys/kernel/arch") or platform.machine()).strip()


def _kib(meminfo: str, name: str) -> int:
    found = re.search(rf"^{name}:\s*(\d+) kB", meminfo, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def _memory_limit_bytes(host: Host) -> int:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = (host.read(path) or "").strip()
        if text.isdigit():
            return int(text)
    return UNLIMITED_BYTES


def _cores(host: Host) -> float:
    cores = float(host.usable_cores())
    v1 = "/sys/fs/cgroup/cpu"
    both = host.read("/sys/fs/cgroup/cpu.max") or (
        f"{host.read(f'{v1}/cpu.cfs_quota_us') or ''} {host.read(f'{v1}/cpu.cfs_period_us') or ''}"
    )
    numbers = both.split()
    if len(numbers) == 2 and all(number.isdigit() for number in numbers) and int(numbers[1]):
        cores = min(cores, round(int(numbers[0]) / int(numbers[1]), 2))
    return cores


def _container(host: Host) -> str:
    """The kind of container this runs in, "" on bare metal or in a virtual machine."""
    if host.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if host.entry("/.dockerenv"):
        return "docker"
    if host.entry("/run/.containerenv"):
        return "podman"
    groups = host.read("/proc/1/cgroup") or ""
    found = re.search(r"kubepods|docker|containerd|lxc|libpod", groups)
    return {"kubepods": "kubernetes", "libpod": "podman"}.get(found[0], found[0]) if found else ""


def _named_user(host: Host) -> bool:
    """Whether getpass.getuser() finds a name: torch asks for one."""
    if any(host.environ.get(name) for name in ("LOGNAME", "USER", "LNAME", "USERNAME")):
        return True
    return bool(re.search(rf"^[^:\n]*:[^:\n]*:{host.uid}:", host.read("/etc/passwd") or "", re.MULTILINE))
