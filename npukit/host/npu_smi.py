"""The cards as the driver's npu-smi tells of them, read from its text.

The table's shape is that of outputs published for npu-smi 21.0 to 26.0: two lines per chip; the second number
of the second line is "Phy-ID" on cards with two chips (Ascend 910_93), "Device" on 310P, none on 910B; chips
with HBM show a second pair of figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from npukit.host.machine import Host, LocalHost, Ran
from npukit.host.verdict import Verdict, Voice

LIMIT_S = 10.0
MIB = 1 << 20
PLACES = ("npu-smi", "/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi", "/usr/bin/npu-smi")
PAIR = re.compile(r"(\d+)\s*/\s*(\d+)")


@dataclass(frozen=True)
class NpuChip:
    """One chip: what torch_npu calls a device. ``memory`` is HBM, or the card's DDR where there is no HBM."""

    name: str
    npu_id: int
    chip_id: int
    physical_id: int
    health: str
    bus_id: str = ""
    temperature_c: int | None = None
    aicore_percent: int | None = None
    memory_used_bytes: int = 0
    memory_total_bytes: int = 0
    processes: int = 0
    fault: str = ""

    @property
    def memory_free_bytes(self) -> int:
        return self.memory_total_bytes - self.memory_used_bytes


@dataclass(frozen=True)
class NpuSmi:
    """What npu-smi said. ``trouble`` names what kept it from answering: absent, timeout, no_access, ..."""

    version: str = ""
    chips: tuple[NpuChip, ...] = ()
    firmware: str = ""
    compatibility: str = ""
    trouble: str = ""
    said: str = ""


def npu_smi(host: Host | None = None) -> NpuSmi:
    """Ask npu-smi for the cards; where there are some, for the first one's board and what ails the unwell."""
    host = host or LocalHost()
    ran, tool = _info(host, ("info",))
    if ran.missing:
        return NpuSmi(trouble="no_access" if "ermission" in ran.stderr else "absent", said=ran.stderr)
    chips = parse_info(ran.stdout)
    version = re.search(r"npu-smi\s+(\S+)\s+Version:", ran.stdout)
    seen = NpuSmi(version=version.group(1) if version else "", chips=chips)
    if not chips:
        return replace(seen, trouble=_trouble(ran), said=_telling_line(ran.text))
    board = parse_fields(host.run((tool, "info", "-t", "board", "-i", str(chips[0].npu_id)), LIMIT_S).stdout)
    return replace(
        seen,
        chips=tuple(_with_fault(host, tool, chip) for chip in chips),
        firmware=board.get("firmware version", ""),
        compatibility=board.get("compatibility", ""),
    )


def npu_cards(host: Host | None = None) -> tuple[NpuChip, ...]:
    """The chips of this machine; none when there are none or npu-smi does not tell."""
    host = host or LocalHost()
    return parse_info(_info(host, ("info",))[0].stdout)


def judge_npu_smi(seen: NpuSmi, voice: Voice) -> list[Verdict]:
    """Only asked where something speaks for an NPU."""
    if seen.trouble:
        return [voice.warn("cards.absent") if seen.trouble == "absent" else _voice_trouble(seen, voice)]
    verdicts = [
        voice.fail("cards.unwell", card=_label(chip), health=chip.health, fault=chip.fault or "no code given")
        for chip in seen.chips
        if chip.health != "OK"
    ]
    if seen.compatibility and seen.compatibility != "OK":
        verdicts.append(voice.warn("cards.incompatible", said=seen.compatibility))
    busy = [
        chip for chip in seen.chips if chip.processes or chip.memory_free_bytes < chip.memory_total_bytes / 2
    ]
    if busy:
        verdicts.append(voice.warn("cards.busy", cards="; ".join(map(_usage, busy))))
    well = [chip for chip in seen.chips if chip.health == "OK"]
    if well:
        names = dict.fromkeys(chip.name for chip in well)
        counts = ", ".join(f"{sum(chip.name == name for chip in well)} x {name}" for name in names)
        size = f"{well[0].memory_total_bytes / 2**30:.0f} GiB each"
        verdicts.insert(0, voice.ok("cards.healthy", f"{counts}, {size}, healthy (npu-smi {seen.version})"))
    return verdicts


def _voice_trouble(seen: NpuSmi, voice: Voice) -> Verdict:
    return voice.fail(f"cards.{seen.trouble}", said=seen.said, limit_s=LIMIT_S)


def _label(chip: NpuChip) -> str:
    return f"{chip.name}, card {chip.npu_id} chip {chip.chip_id} (/dev/davinci{chip.physical_id})"


def _usage(chip: NpuChip) -> str:
    used, total = chip.memory_used_bytes / 2**30, chip.memory_total_bytes / 2**30
    return (
        f"card {chip.npu_id} chip {chip.chip_id}: {used:.1f} of {total:.0f} GiB, {chip.processes} processes"
    )


def parse_info(text: str) -> tuple[NpuChip, ...]:
    """The chips in the table of `npu-smi info`."""
    chips: list[NpuChip] = []
    first: list[str] | None = None
    has_device_column = False
    in_processes = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|") or len(cells) < 3:
            continue
        if re.match(r"NPU\s+Chip\b", cells[0]):
            in_processes = True
        elif re.match(r"Chip\b", cells[0]):
            has_device_column = bool(re.search(r"Phy-ID|Device", cells[0]))
        elif in_processes:
            chips = _count_process(chips, cells)
        elif first is None:
            first = cells if re.match(r"\d+\s+\S", cells[0]) else None
        else:
            chip = _chip(first, cells, has_device_column)
            chips += [chip] if chip else []
            first = None
    return tuple(chips)


def parse_fields(text: str) -> dict[str, str]:
    """The `Name : value` lines of a `-t` query, names in lower case; values that say nothing left out."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    found = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return {name: value for name, value in found.items() if value not in ("", "NA", "-")}


def _info(host: Host, arguments: Sequence[str]) -> tuple[Ran, str]:
    for tool in PLACES:
        ran = host.run((tool, *arguments), LIMIT_S)
        if not ran.missing:
            return ran, tool
    return ran, tool


def _chip(first: list[str], second: list[str], has_device_column: bool) -> NpuChip | None:
    card, name = first[0].split(maxsplit=1)
    ids = re.findall(r"\d+", second[0])
    if not ids:
        return None
    numbers = first[2].split()
    pairs = [(int(used), int(total)) for used, total in PAIR.findall(second[2])]
    used, total = next((pair for pair in reversed(pairs) if pair[1]), (0, 0))
    return NpuChip(
        name=name if name.lower().startswith("ascend") else f"Ascend{name}",
        npu_id=int(card),
        chip_id=int(ids[0]),
        physical_id=int(ids[1]) if has_device_column and len(ids) > 1 else int(card),
        health=first[1],
        bus_id=second[1],
        temperature_c=_integer(numbers[1]) if len(numbers) > 1 else None,
        aicore_percent=_integer(second[2].split()[0]) if second[2] else None,
        memory_used_bytes=used * MIB,
        memory_total_bytes=total * MIB,
    )


def _count_process(chips: list[NpuChip], cells: list[str]) -> list[NpuChip]:
    ids = tuple(int(number) for number in re.findall(r"\d+", cells[0]))
    if len(ids) != 2 or not cells[1].isdigit():
        return chips
    return [
        replace(chip, processes=chip.processes + 1) if (chip.npu_id, chip.chip_id) == ids else chip
        for chip in chips
    ]


def _with_fault(host: Host, tool: str, chip: NpuChip) -> NpuChip:
    if chip.health == "OK":
        return chip
    query = (tool, "info", "-t", "health", "-i", str(chip.npu_id), "-c", str(chip.chip_id))
    health = parse_fields(host.run(query, LIMIT_S).stdout)
    parts = (health.get("error code", ""), health.get("error information", ""))
    return replace(chip, fault=": ".join(part for part in parts if part))


def _trouble(ran: Ran) -> str:
    if ran.timed_out:
        return "timeout"
    signs = (
        ("-8005", "no_access"),
        ("-8020", "occupied"),
        ("error while loading shared libraries", "driver_libraries"),
        ("ermission denied", "no_access"),
    )
    if not ran.text or ("npu-smi" in _telling_line(ran.text) and ran.status == 0):
        return "no_cards"
    return next((name for sign, name in signs if sign in ran.text), "error")


def _telling_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    return next((line for line in lines if "ret is" in line), lines[0] if lines else "")


def _integer(text: str) -> int | None:
    return int(text) if text.isdigit() else None
