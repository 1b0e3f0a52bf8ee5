"""The machine under everything: system, processor, Python, memory, disk."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass

from npukit.host.machine import Host, LocalHost

# Two machines of Ascend pods name no model in /proc/cpuinfo; the Arm implementer and part numbers do (Linux,
# arch/arm64/include/asm/cputype.h).
ARM_PARTS = {("0x48", "0xd01"): "Kunpeng 920", ("0x48", "0xd02"): "Kunpeng 920 (second edition)"}
UNLIMITED_BYTES = 1 << 60


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
    shared_memory_bytes: int | None
    container: str


def system_facts(host: Host | None = None, disk_path: str = ".") -> SystemFacts:
    host = host or LocalHost()
    meminfo = host.read("/proc/meminfo") or ""
    total = _kib(meminfo, "MemTotal")
    limit = _memory_limit_bytes(host)
    return SystemFacts(
        os=_os_name(host),
        kernel=_kernel(host),
        arch=_arch(host),
        python=platform.python_version(),
        cpu=cpu_model(host.read("/proc/cpuinfo") or ""),
        cores=_cores(host),
        memory_bytes=min(total, limit) if total else 0,
        memory_available_bytes=min(_kib(meminfo, "MemAvailable"), limit),
        disk_free_bytes=host.free_bytes(disk_path),
        shared_memory_bytes=host.free_bytes("/dev/shm"),
        container=_container(host),
    )


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
