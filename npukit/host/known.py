"""What the knowledge of failures says of an error that a probe met."""

from __future__ import annotations

from npukit.host.torch_seen import TorchSeen
from npukit.host.verdict import Verdict, Voice
from npukit.knowledge import explain


def known_cause(text: str, voice: Voice) -> tuple[str, str]:
    """Cause and remedy from the knowledge of failures; words of last resort when nothing is known."""
    for finding in explain(text, voice.lang):
        if finding.severity != "noise":
            return finding.cause, finding.remedy
    unknown = voice.info("imports.unknown")
    return unknown.cause, unknown.remedy


def death_of_child(area: str, seen: TorchSeen, voice: Voice) -> Verdict:
    cause, remedy = known_cause(seen.said, voice)
    return voice.fail(f"{area}.died", at=seen.at or "python", how=seen.died, cause=cause, remedy=remedy)
