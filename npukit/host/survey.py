"""The whole machine: gather every probe's facts, then judge them. Only gathering touches the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType

from npukit.host.cann import Cann, cann, judge_cann
from npukit.host.compatibility import Installed, judge_compatibility
from npukit.host.compute import judge_compute
from npukit.host.device_files import DeviceFiles, device_files, judge_device_files
from npukit.host.driver import Driver, driver, judge_driver
from npukit.host.hubs import Hub, hubs, judge_hubs
from npukit.host.imports import judge_imports
from npukit.host.machine import Host
from npukit.host.npu_smi import NpuSmi, judge_npu_smi, npu_smi
from npukit.host.packages import IDENTITY, canonical
from npukit.host.pins import BrokenPin, broken_pins, judge_cann_python, judge_pins, missing_cann_python
from npukit.host.system import SystemFacts, judge_system, system_facts
from npukit.host.torch_seen import TorchSeen, torch_seen
from npukit.host.variables import MASK, Variables, judge_variables, variables
from npukit.host.verdict import Verdict, Voice

EMULATED = "NPUKIT_EMULATED"  # marks every process on the CANN emulator
IMPORTED = ("torch", "torch_npu", "transformers")


@dataclass(frozen=True)
class Facts:
    """Everything seen of one machine. ``torch`` and ``hubs`` are None where they were not looked at."""

    system: SystemFacts
    devices: DeviceFiles
    driver: Driver
    cards: NpuSmi
    cann: Cann
    packages: dict[str, str | None]
    pins: tuple[BrokenPin, ...]
    cann_python: tuple[str, ...]
    variables: Variables
    torch: TorchSeen | None
    hubs: tuple[Hub, ...] | None
    emulated: bool = False

    @property
    def npu_signs(self) -> tuple[str, ...]:
        """What speaks for an NPU being here or being meant to be here."""
        signs = {
            "device files": bool(self.devices.cards),
            "driver": bool(self.driver.version),
            "npu-smi": self.cards.trouble != "absent",
            "CANN": bool(self.cann.home or self.cann.dangling),
            "torch_npu": self.packages["torch_npu"] is not None,
        }
        return tuple(name for name, there in signs.items() if there)


def survey(
    host: Host,
    disk_path: str = ".",
    offline: bool = False,
    busy: Mapping[str, str] = MappingProxyType({}),
    progress: Callable[[str], None] = lambda text: None,
) -> Facts:
    """Slow probes run beside each other, each in a child with a limit. ``busy`` devices are left alone."""
    packages = host.packages()
    found = {
        name: packages[canonical(name)].version if canonical(name) in packages else None for name in IDENTITY
    }
    installed = tuple(name for name in IMPORTED if found[name] is not None)
    with ThreadPoolExecutor() as pool:
        progress(
            "importing " + ", ".join(installed) + " in a child" if installed else "torch is not installed"
        )
        torch = pool.submit(torch_seen, host, installed, busy) if "torch" in installed else None
        cards = pool.submit(npu_smi, host)
        asked = None if offline else pool.submit(hubs, host)
        return Facts(
            system=system_facts(host, disk_path),
            devices=device_files(host),
            driver=driver(host),
            cann=cann(host),
            packages=found,
            pins=broken_pins(packages),
            cann_python=missing_cann_python(packages),
            variables=variables(host),
            cards=cards.result(),
            hubs=asked.result() if asked else None,
            torch=torch.result() if torch else None,
            emulated=host.environ.get(EMULATED) == "1",
        )


def judge(facts: Facts, lang: str = "en") -> list[Verdict]:
    """Every line of the report, from the machine up."""
    return list(_judge(facts, Voice(lang)))


def has(facts: Facts, kind: str) -> bool:
    """Whether a device of this kind was seen to compute; an emulated one is none."""
    return not facts.emulated and facts.torch is not None and facts.torch.computed(kind)


def _judge(facts: Facts, voice: Voice) -> Iterator[Verdict]:
    npu = bool(facts.npu_signs)
    yield from judge_system(facts.system, voice)
    if facts.emulated:
        yield voice.warn("devices.emulated")
    elif npu:
        yield from _judge_npu(facts, voice)
    else:
        yield voice.info("devices.no_npu")
    yield from _judge_packages(facts, voice)
    chips = len(facts.cards.chips) or len(facts.devices.cards)
    yield from judge_variables(facts.variables, chips, npu, voice)
    if facts.torch:
        mask = facts.variables.told.get(MASK)
        yield from judge_imports(facts.torch, facts.cann, facts.packages, voice)
        yield from judge_compute(facts.torch, len(facts.devices.cards), mask, voice)
    yield from judge_hubs(facts.hubs, voice)


def _judge_npu(facts: Facts, voice: Voice) -> Iterator[Verdict]:
    container = facts.system.container
    if facts.npu_signs == ("torch_npu",):
        yield voice.info("devices.torch_npu_only")
    else:
        yield from judge_device_files(facts.devices, container, voice)
    if facts.devices.cards or facts.driver.version:
        yield from judge_driver(facts.driver, container, facts.cards.firmware, voice)
        yield from judge_npu_smi(facts.cards, voice)
    torch_npu = facts.packages["torch_npu"] is not None
    yield from judge_cann(facts.cann, facts.cards.chips, torch_npu, voice)
    if torch_npu and facts.cann.home:
        yield from judge_cann_python(facts.cann_python, voice)


def _judge_packages(facts: Facts, voice: Voice) -> Iterator[Verdict]:
    there = {name: version for name, version in facts.packages.items() if version}
    yield voice.ok("packages.found", ", ".join(f"{name} {version}" for name, version in there.items()))
    for name in ("torch", "transformers"):
        if name not in there:
            yield voice.fail(f"packages.no_{name}")
    if facts.devices.cards and "torch_npu" not in there:
        yield voice.fail("packages.no_torch_npu", torch=there.get("torch", "TORCH_VERSION"))
    yield from judge_pins(facts.pins, voice)
    found = Installed(
        torch=there.get("torch", ""),
        torch_npu=there.get("torch_npu", ""),
        cann=facts.cann.version,
        python=facts.system.python,
        numpy=there.get("numpy", ""),
    )
    imports = facts.torch is not None and facts.torch.imported("torch_npu")
    yield from judge_compatibility(found, imports, voice)
