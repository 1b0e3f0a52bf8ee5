"""Whether each device computes right values, how fast, and whether all the cards are there."""

from __future__ import annotations

import re
from itertools import groupby

from npukit.host.known import death_of_child, known_cause
from npukit.host.torch_seen import END, Computed, TorchSeen
from npukit.host.verdict import Verdict, Voice


def judge_compute(seen: TorchSeen, cards: int, mask: str | None, voice: Voice) -> list[Verdict]:
    """``cards`` counts the device files, ``mask`` is ASCEND_RT_VISIBLE_DEVICES: what should be there."""
    verdicts = [_judge_devices(list(like), voice) for _, like in groupby(seen.devices, key=_likeness)]
    verdicts += [
        voice.info("compute.busy", device=device, holder=holder) for device, holder in seen.busy.items()
    ]
    if seen.died and seen.at == END:
        verdicts.append(voice.warn("compute.exit", how=seen.died))
    elif seen.died and re.match(r"counting|npu:|cuda:|cpu", seen.at):
        return [*verdicts, death_of_child("compute", seen, voice)]
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
        cause, remedy = known_cause(found.traceback, voice)
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
