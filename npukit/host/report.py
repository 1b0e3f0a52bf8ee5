"""The survey as a document that can be kept, compared with another machine's, and pasted in public."""

from __future__ import annotations

import getpass
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tabulate import tabulate

from npukit import __version__
from npukit.host.hubs import without_credentials
from npukit.host.machine import Host
from npukit.host.survey import Facts
from npukit.host.verdict import Level, Verdict

FORMAT = 1
LEVELS: tuple[Level, ...] = ("ok", "info", "warn", "fail")
TOKENS = re.compile(r"\bhf_\w{16,}|\bms-[0-9a-f-]{20,}|\bgh[pousr]_\w{20,}|(?<=[Bb]earer )\S+")
ROOT_NAMES = ("root", "")  # says nothing of a person, and stands in many other words


def document(facts: Facts, verdicts: Sequence[Verdict], seconds: float, host: Host) -> dict[str, Any]:
    """The JSON document of `npukit env` (format 1), without names of users or hosts and without tokens."""
    whole = {
        "format": FORMAT,
        "npukit": __version__,
        "worst": worst(verdicts),
        "counts": counts(verdicts),
        "seconds": round(seconds, 1),
        "verdicts": [verdict.to_json() for verdict in verdicts],
        "facts": asdict(facts),
    }
    return anonymous(whole, private_words(host))


def worst(verdicts: Sequence[Verdict]) -> Level:
    return max((verdict.level for verdict in verdicts), key=LEVELS.index, default="ok")


def counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    seen = Counter(verdict.level for verdict in verdicts)
    return {level: seen[level] for level in LEVELS}


def private_words(host: Host) -> dict[str, str]:
    """What must not leave this machine, and what stands in its place."""
    home = host.environ.get("HOME", "").rstrip("/")
    names = {host.environ.get("USER", ""), host.environ.get("LOGNAME", ""), _user_name()}
    words = {home: "~"} if home.count("/") else {}
    words |= {name: "USER" for name in names if name not in ROOT_NAMES}
    words |= {name: "HOST" for name in {platform.node(), host.environ.get("HOSTNAME", "")} if name}
    return words


def anonymous(value: Any, words: Mapping[str, str]) -> Any:
    """The same tree of dicts and lists with every text cleaned, keys left alone."""
    if isinstance(value, str):
        for word, stand_in in words.items():
            value = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", stand_in, value)
        return TOKENS.sub("TOKEN", without_credentials(value))
    if isinstance(value, Mapping):
        return {key: anonymous(item, words) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [anonymous(item, words) for item in value]
    return value


def pasteable(document: Mapping[str, Any]) -> str:
    """The document as Markdown for an issue: the lines, then each finding with its cause and remedy."""
    verdicts = document["verdicts"]
    rows = [(v["level"], v["id"].partition(".")[0], v["seen"].replace("|", "\\|")) for v in verdicts]
    parts = [
        f"npukit {document['npukit']} env: "
        + ", ".join(f"{n} {level}" for level, n in document["counts"].items()),
        tabulate(rows, headers=("", "area", "seen"), tablefmt="github"),
    ]
    for verdict in verdicts:
        if verdict["level"] in ("warn", "fail"):
            remedy = f"```\n{verdict['remedy']}\n```"
            parts.append(f"**{verdict['level']} {verdict['id']}**: {verdict['cause']}\n{remedy}")
    return "\n\n".join(parts)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return ""
