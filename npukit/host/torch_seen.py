"""torch, torch_npu and transformers imported and made to compute in a child: what was seen from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from npukit.host.children import run_child
from npukit.host.machine import Host, Ran

# A first import from a network disk takes tens of seconds, a first NPU operator more: this ends hangs only.
LIMIT_S = 180.0
END = "end"  # where a child stands when all its work is done
AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


@dataclass(frozen=True)
class Import:
    """One module. ``root`` is the innermost exception, ``error`` the one that arrived."""

    module: str
    ok: bool
    version: str = ""
    seconds: float = 0.0
    file: str = ""
    error: str = ""
    root: str = ""
    traceback: str = ""


@dataclass(frozen=True)
class Computed:
    """One device. ``right`` says per dtype whether a product had the right value, or what went wrong."""

    device: str
    name: str = ""
    right: Mapping[str, bool | str] | None = None
    float32_kept: bool = True
    switches: Mapping[str, bool] | None = None
    gflops: float = 0.0
    copy_gb_per_s: float = 0.0
    error: str = ""
    root: str = ""
    traceback: str = ""

    @property
    def ok(self) -> bool:
        return not self.error and self.right is not None and self.right.get("float32") is True


@dataclass(frozen=True)
class TorchSeen:
    """``died`` is "" or how the child ended, ``at`` what it was doing then; ``plain`` is a second try without
    autoload, made only when `import torch` fails; the devices are then what it saw."""

    imports: tuple[Import, ...] = ()
    devices: tuple[Computed, ...] = ()
    died: str = ""
    at: str = ""
    said: str = ""
    plain: tuple[Import, ...] = ()
    busy: Mapping[str, str] = field(default_factory=dict)

    def imported(self, module: str) -> bool:
        return any(seen.module == module and seen.ok for seen in self.imports)

    def computed(self, kind: str) -> bool:
        return any(seen.device.partition(":")[0] == kind and seen.ok for seen in self.devices)


def torch_seen(
    host: Host,
    installed: tuple[str, ...],
    busy: Mapping[str, str] = MappingProxyType({}),
    limit_s: float = LIMIT_S,
) -> TorchSeen:
    """``installed`` are those of torch, torch_npu, transformers that there are, in this order;
    ``busy`` devices, each with its holder, are left alone."""
    skipped = [f"-{device}" for device in busy]
    reports, ran = run_child(host, "torch", *installed, *skipped, limit_s=limit_s)
    imports = _imports(reports)
    devices = _devices(reports)
    plain: tuple[Import, ...] = ()
    if "torch_npu" in installed and not any(seen.module == "torch" and seen.ok for seen in imports):
        arguments = (*installed, *skipped)
        again, _ = run_child(host, "torch", *arguments, limit_s=limit_s, environ={AUTOLOAD: "0"})
        plain, devices = _imports(again), _devices(again)
    begun = [report["begin"] for report in reports if "begin" in report]
    died = _death(ran, limit_s)
    said = ran.stderr.strip()[-2000:] if died else ""
    return TorchSeen(imports, devices, died, begun[-1] if died and begun else "", said, plain, dict(busy))


def _death(ran: Ran, limit_s: float) -> str:
    if ran.timed_out:
        return f"no end in {limit_s:g} s"
    if ran.status is None:
        return ran.stderr
    if ran.status < 0:
        return f"killed by signal {-ran.status}"
    return f"exit status {ran.status}" if ran.status else ""


def _imports(reports: list[dict[str, Any]]) -> tuple[Import, ...]:
    return tuple(Import(**report) for report in reports if "module" in report)


def _devices(reports: list[dict[str, Any]]) -> tuple[Computed, ...]:
    return tuple(Computed(**report) for report in reports if "device" in report)
