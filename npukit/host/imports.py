"""What happens when torch, torch_npu and transformers are imported and made to compute, seen from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Any

from npukit.host.cann import Cann
from npukit.host.children import run_child
from npukit.host.machine import Host, Ran
from npukit.host.verdict import Fix, Verdict, Voice
from npukit.knowledge import explain

# A first import from a network disk takes tens of seconds, a first NPU operator more: this ends hangs only.
LIMIT_S = 180.0
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


def judge_imports(
    seen: TorchSeen, cann: Cann, metadata: Mapping[str, str | None], voice: Voice
) -> list[Verdict]:
    verdicts = [_failed(found, seen, cann, voice) for found in seen.imports if not found.ok]
    if seen.died and seen.at in metadata:
        verdicts.append(_died("imports", seen, voice))
    for found in seen.imports:
        wanted = metadata.get(found.module) or ""
        if found.ok and wanted and found.version and found.version != wanted:
            fields = {"module": found.module, "version": found.version, "file": found.file, "wanted": wanted}
            verdicts.append(voice.warn("imports.other_version", **fields))
        if found.ok and not found.file:
            verdicts.append(voice.fail("imports.namespace", module=found.module))
    good = [found for found in seen.imports if found.ok]
    if good and not verdicts:
        told = ", ".join(f"{found.module} {found.seconds:.1f} s" for found in good)
        verdicts.append(voice.ok("imports.work", told))
    return verdicts


def judge_compute(seen: TorchSeen, cards: int, mask: str | None, voice: Voice) -> list[Verdict]:
    """``cards`` counts the device files, ``mask`` is ASCEND_RT_VISIBLE_DEVICES: what should be there."""
    verdicts = [_judge_devices(list(like), voice) for _, like in groupby(seen.devices, key=_likeness)]
    verdicts += [
        voice.info("compute.busy", device=device, holder=holder) for device, holder in seen.busy.items()
    ]
    if seen.died and re.match(r"counting|npu|cuda|cpu", seen.at):
        return [*verdicts, _died("compute", seen, voice)]
    shown = len(seen.busy) + sum(found.device.startswith("npu:") for found in seen.devices)
    wanted = len(mask.split(",")) if mask else cards
    if not seen.imported("torch_npu") or not cards or shown >= wanted:
        return verdicts
    name = "compute.fewer" if shown else "compute.no_npu" if mask is None else "compute.no_npu_masked"
    return [voice.fail(name, mask=mask, shown=shown, wanted=wanted), *verdicts]


def _likeness(found: Computed) -> tuple[str, ...]:
    """Devices with all of this in common share a line: sixteen cards are one screen too many."""
    kind = found.device.partition(":")[0]
    return (kind, found.name, str(found.right), str(found.switches), str(found.float32_kept), found.error)


def _judge_devices(alike: list[Computed], voice: Voice) -> Verdict:
    found = alike[0]
    places = found.device if len(alike) == 1 else f"{found.device} to {alike[-1].device} ({len(alike)})"
    if found.error:
        cause, remedy = _known(found.traceback, voice)
        return voice.fail("compute.error", device=places, error=found.root, cause=cause, remedy=remedy)
    right = found.right or {}
    told = ", ".join(name for name, good in right.items() if good is True)
    wrong = "; ".join(f"{name}: {good or 'wrong value'}" for name, good in right.items() if good is not True)
    switches = ", ".join(
        f"{name.replace('_', ' ')} {'on' if on else 'off'}" for name, on in (found.switches or {}).items()
    )
    speed = (
        f"{min(each.gflops for each in alike):,.0f} GFLOP/s",
        f"copies {min(each.copy_gb_per_s for each in alike):,.0f} GB/s",
    )
    parts = (f"{places} {found.name}".strip(), f"products right in {told}", *speed, switches)
    text = ", ".join(part for part in parts if part)
    if right.get("float32") is not True:
        return voice.fail("compute.wrong", device=places, wrong=wrong)
    if wrong:
        return voice.warn("compute.partly", seen=text, wrong=wrong)
    if not found.float32_kept:
        return voice.warn("compute.rounded", seen=text)
    return voice.ok("compute.right", text)


def _failed(found: Import, seen: TorchSeen, cann: Cann, voice: Voice) -> Verdict:
    plain_torch = any(other.module == "torch" and other.ok for other in seen.plain)
    inner = next((other for other in seen.plain if not other.ok), found)
    library = re.search(
        r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object", f"{found.traceback}\n{inner.root}"
    )
    if (found.module == "torch_npu" or plain_torch) and library:
        return _library(library.group(1), found, cann, voice)
    cause, remedy = _known(f"{found.traceback}\n{inner.traceback}", voice)
    if plain_torch:
        off = Fix("line", f"export {AUTOLOAD}=0")
        return voice.fail("imports.autoload", off, error=inner.root, cause=cause, remedy=remedy)
    return voice.fail("imports.failed", module=found.module, error=found.root, cause=cause, remedy=remedy)


def _library(name: str, found: Import, cann: Cann, voice: Voice) -> Verdict:
    """A shared library torch_npu needs is not found: which of its owners is at fault."""
    if name == "libascend_hal.so":
        return voice.fail("imports.driver_library", module=found.module, library=name)
    if not cann.home:
        return voice.fail(
            "imports.no_cann", Fix("line", f"export {AUTOLOAD}=0"), module=found.module, library=name
        )
    source = f"source {cann.set_env or f'{cann.home}/set_env.sh'}"
    if not cann.loaded:
        return voice.fail(
            "imports.cann_not_loaded", Fix("line", source), module=found.module, library=name, source=source
        )
    return voice.fail(
        "imports.cann_incomplete", module=found.module, library=name, home=cann.home, source=source
    )


def _known(text: str, voice: Voice) -> tuple[str, str]:
    """Cause and remedy from the knowledge of failures; words of last resort when nothing is known."""
    for finding in explain(text, voice.lang):
        if finding.severity != "noise":
            return finding.cause, finding.remedy
    unknown = voice.info("imports.unknown")
    return unknown.cause, unknown.remedy


def _died(area: str, seen: TorchSeen, voice: Voice) -> Verdict:
    cause, remedy = _known(seen.said, voice)
    return voice.fail(f"{area}.died", at=seen.at, how=seen.died, cause=cause, remedy=remedy)


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
