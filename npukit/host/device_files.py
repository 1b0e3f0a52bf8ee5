"""The driver's device files: are they here, and may this process open them?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from npukit.host.machine import Host
from npukit.host.verdict import Verdict, Voice

# Every NPU process opens these besides its card's own file.
SHARED = ("davinci_manager", "devmm_svm", "hisi_hdc")


@dataclass(frozen=True)
class DeviceFiles:
    """``cards`` are the N of /dev/davinciN; ``group`` owns the files that may not be opened."""

    cards: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    group: str = ""


def device_files(host: Host) -> DeviceFiles:
    names = host.entries("/dev")
    cards = tuple(sorted(int(name[7:]) for name in names if re.fullmatch(r"davinci\d+", name)))
    shared = tuple(name for name in SHARED if name in names)
    if not cards and not shared:
        return DeviceFiles()
    present = {name: host.entry(f"/dev/{name}") for name in (*(f"davinci{n}" for n in cards), *shared)}
    refused = tuple(n for n, entry in present.items() if entry and not (entry.readable and entry.writable))
    first = present.get(refused[0]) if refused else None
    return DeviceFiles(
        cards=cards,
        missing=tuple(name for name in SHARED if name not in names),
        refused=refused,
        group=_group_name(host, first.gid) if first else "",
    )


def judge_device_files(files: DeviceFiles, container: str, voice: Voice) -> list[Verdict]:
    """Only asked where something speaks for an NPU."""
    verdicts = []
    if not files.cards:
        verdicts.append(voice.warn(f"devices.{'unmapped' if container else 'none'}"))
    if files.refused:
        paths = " ".join(f"/dev/{name}" for name in files.refused)
        verdicts.append(voice.fail("devices.refused", files=paths, group=files.group))
    if files.missing and files.cards:
        mapping = " ".join(f"--device=/dev/{name}" for name in files.missing)
        paths = " ".join(f"/dev/{name}" for name in files.missing)
        name = "devices.partly_mapped" if container else "devices.partly_there"
        verdicts.append(voice.fail(name, files=paths, mapping=mapping))
    if not verdicts:
        cards = ", ".join(str(card) for card in files.cards)
        verdicts.append(
            voice.ok("devices.present", f"/dev/davinci {cards} and the shared files can be opened")
        )
    return verdicts


def _group_name(host: Host, gid: int) -> str:
    found = re.search(rf"^([^:\n]+):[^:\n]*:{gid}:", host.read("/etc/group") or "", re.MULTILINE)
    return found.group(1) if found else str(gid)
