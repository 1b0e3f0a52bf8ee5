"""Whether the hubs can be reached from here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from npukit.host.children import run_child
from npukit.host.machine import Host
from npukit.host.verdict import Verdict, Voice

LIMIT_S = 5.0
HUBS = (
    ("huggingface", "HF_ENDPOINT", "https://huggingface.co"),
    ("modelscope", "MODELSCOPE_ENDPOINT", "https://www.modelscope.cn"),
    ("gitcode", "", "https://gitcode.com"),
)


@dataclass(frozen=True)
class Hub:
    """``status`` is what HTTP answered, None when nothing did; then ``error`` says why."""

    name: str
    endpoint: str
    status: int | None
    error: str = ""
    seconds: float = 0.0

    @property
    def reached(self) -> bool:
        return self.status is not None and self.status < 500 and self.status != 407


def endpoints(host: Host) -> dict[str, str]:
    found = {name: (host.environ.get(variable) or default).rstrip("/") for name, variable, default in HUBS}
    return {name: url if "://" in url else f"https://{url}" for name, url in found.items()}


def hubs(host: Host, limit_s: float = LIMIT_S) -> tuple[Hub, ...]:
    asked = endpoints(host)
    pairs = [f"{name}={url}" for name, url in asked.items()]
    reports, _ = run_child(host, "hubs", str(limit_s), *pairs, limit_s=limit_s + 2)
    answers = {report.get("hub"): report for report in reports}
    silent = {"status": None, "error": f"no answer in {limit_s:g} s", "seconds": limit_s}
    return tuple(
        Hub(name, without_credentials(url), **{key: answers.get(name, silent)[key] for key in silent})
        for name, url in asked.items()
    )


def judge_hubs(seen: tuple[Hub, ...] | None, voice: Voice) -> list[Verdict]:
    """None: not asked. A hub out of reach is never fatal: models can come by other ways."""
    if seen is None:
        return [voice.info("hubs.not_asked")]
    reached = [hub for hub in seen if hub.reached]
    lost = _grouped([hub for hub in seen if not hub.reached])
    told = ", ".join(f"{hub.name} {hub.seconds:.1f} s" for hub in reached)
    if not reached:
        return [voice.warn("hubs.none", lost=lost)]
    verdicts = [voice.ok("hubs.reached", told)]
    if lost:
        verdicts.append(voice.warn("hubs.some", lost=lost, reached=reached[0].name))
    return verdicts


def _grouped(lost: list[Hub]) -> str:
    """The endpoints out of reach, those with one and the same error together."""
    by_error: dict[str, list[str]] = {}
    for hub in lost:
        error = re.sub(r"^\[Errno -?\d+\] ", "", hub.error) or f"HTTP {hub.status}"
        by_error.setdefault(error, []).append(hub.endpoint)
    return "; ".join(f"{', '.join(places)}: {error}" for error, places in by_error.items())


def without_credentials(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text)
