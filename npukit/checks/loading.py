"""verify: did every weight land, and does the config say on the model what it says in the file?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from npukit.checks import judged, named
from npukit.results import Check
from npukit.slots import likely_causes, words

KINDS = {
    "missing": "the checkpoint lacks them, so they were initialised at random",
    "unexpected": "the model has no such tensors, so they were dropped",
    "mismatched": "their shapes differ from the model's, so they were initialised at random",
}
EDIT_KEYS = "npukit patch --list   # weight keys and config keys can be rewritten by the recipe"
OWN_CODE = "npukit patch --trust-remote-code   # if the model brings its own class"
STRANGERS = "the checkpoint was saved by another class than the one that reads it"


def load_checks(measured: Mapping[str, Any]) -> list[Check]:
    """Headers against the model, the real load, whether both agree, and the values themselves."""
    headers, load = measured["headers"], measured["load"]
    return [
        *_header_checks(headers),
        *(_real_check(kind, load, text) for kind, text in KINDS.items()),
        _agreement(headers, load),
        *_value_checks(measured["values"]),
    ]


def _header_checks(headers: Mapping[str, Any]) -> list[Check]:
    if "unavailable" in headers:
        expected = "the files' headers against the model on the meta device"
        return [judged("headers", None, expected, headers["unavailable"])]
    causes = "; ".join(likely_causes(headers))
    return [
        judged(
            f"headers.{kind}",
            not headers[kind],
            f"0 {kind}: files {headers['file_tensors']} tensors, model {headers['model_tensors']}",
            f"{_total(headers[kind])}: {words(headers[kind])}" if headers[kind] else "0",
            cause=causes or text,
            remedy=EDIT_KEYS,
        )
        for kind, text in KINDS.items()
    ]


def _total(groups: list[dict[str, Any]]) -> int:
    return sum(row["count"] for row in groups)


def _real_check(kind: str, load: Mapping[str, Any], cause: str) -> Check:
    names = load[kind]
    strangers = bool(load["missing"] and load["unexpected"])
    return judged(
        f"load.{kind}",
        not names,
        f"0 {kind} tensors",
        f"{len(names)}{named(names)}",
        cause=f"{cause}; {STRANGERS}" if strangers else cause,
        remedy=f"{OWN_CODE}\n{EDIT_KEYS}" if strangers else EDIT_KEYS,
    )


def _agreement(headers: Mapping[str, Any], load: Mapping[str, Any]) -> Check:
    expected = "the real load reports what the headers foretold"
    if "unavailable" in headers:
        return judged("load.agrees", None, expected, "the headers could not be compared")
    pairs = [(kind, _total(headers[kind]), len(load[kind])) for kind in KINDS]
    apart = [
        f"{kind}: {foretold} foretold, {seen} reported" for kind, foretold, seen in pairs if foretold != seen
    ]
    return judged(
        "load.agrees",
        not apart,
        expected,
        "; ".join(apart) or "it does",
        cause="the library renamed, dropped or filled tensors without reporting it",
        remedy="npukit verify --strict --json   # the groups of names are under measured.headers",
    )


def _value_checks(values: Mapping[str, Any]) -> list[Check]:
    return [
        judged(
            "load.values",
            not values["different"],
            "the model's parameters hold the files' values",
            f"{len(values['different'])} differ{named(values['different'])}"
            if values["different"]
            else f"{values['compared']} compared, {values['rebuilt']} rebuilt on the way",
            cause="loading wrote something else over them, or put them in another place",
            remedy=EDIT_KEYS,
        ),
        judged(
            "load.initial",
            not values["initial"],
            "no parameter keeps its initial value",
            f"{len(values['initial'])}{named(values['initial'])}",
            cause="no tensor of the files became them: the library initialised them without an error",
            remedy=f"{OWN_CODE}\n{EDIT_KEYS}",
        ),
        judged(
            "load.constant",
            not values["constant"],
            "no matrix whose values are all the same",
            f"{len(values['constant'])}{named(values['constant'])}",
            cause="training leaves no such thing: the file was cut or edited, or a tensor was never written",
            remedy="npukit fetch --recheck --deep   # against the hub's own hashes",
        ),
    ]


def config_checks(config: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Check]:
    """Every value of config.json landed; the recipe's values are there; keys that nobody reads are named."""
    lost = [f"{row['key']} ({row['written']} became {row['landed']})" for row in config["lost"]]
    wrong = [text for key, value in wanted.items() if (text := _differs(config["landed"], key, value))]
    ignored = config["unread"]
    return [
        judged(
            "config.landed",
            not lost,
            f"{config['checked']} values of config.json on model.config",
            f"{config['checked'] - len(lost)} landed{named(lost)}",
            cause="this transformers does not know the keys named, or reads them under another name",
            remedy=EDIT_KEYS,
        ),
        judged(
            "config.wanted",
            not wrong if wanted else None,
            f"{len(wanted)} values that the recipe names" if wanted else "the recipe names no values",
            f"{len(wanted) - len(wrong)} as wanted{named(wrong)}",
            cause="config.json lacks the key or has another value: the default of the class was taken",
            remedy="npukit fetch --force   # and compare config.json with the one published",
        ),
        judged(
            "config.read",
            None if ignored else True,
            "every key of config.json is named in the code that runs",
            f"nothing reads{named(ignored)}" if ignored else "all are",
        ),
    ]


def _differs(landed: Mapping[str, Any], key: str, wanted: Any) -> str:
    seen: Any = landed
    for step in key.split("."):
        seen = seen.get(step) if isinstance(seen, Mapping) else None
    if isinstance(wanted, Mapping) and isinstance(seen, list):
        seen = dict(Counter(map(str, seen)))
    return "" if seen == wanted else f"{key} is {seen!r}, not {wanted!r}"
