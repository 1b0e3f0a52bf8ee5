"""The parts of a report that stand on results: smoke, performance, accuracy, and what was adapted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from npukit.performance import bound, decode_tokens_per_s, tokens_per_s, warnings
from npukit.report.commands import measuring
from npukit.report.evidence import NEVER, Evidence, Found
from npukit.report.tables import literal, table
from npukit.report.words import Words
from npukit.results import Judged, StageResult
from npukit.samples import summarise
from npukit.stages import stage_named

LATENCIES = {"avg": "mean", "min": "min", "max": "max", "p50": "p50", "p90": "p90", "p95": "p95"}


def first_line(evidence: Evidence, stage: str, words: Words) -> list[str]:
    """What must be known before any figure: not run, on what, stale, failed."""
    found = evidence.found[stage]
    command = measuring(evidence, stage)
    if found.judged is None and found.why == (NEVER,):
        return [f"**{words('not-run', command=command)}**"]
    if found.judged is None:
        return [f"**{words('stale', why='; '.join(found.why), command=command)}**"]
    return _warned(found, found.judged, command, words)


def _warned(found: Found, judged: Judged, command: str, words: Words) -> list[str]:
    said = []
    if judged.result.emulated:
        said.append(words("emulated"))
    elif judged.result.device == "cpu":
        said.append(words("cpu"))
    if found.why:
        said.append(words("stale", why="; ".join(found.why), command=command))
    if judged.failed:
        said.append(words("failed", checks=", ".join(check.id for check in judged.failed)))
    return [f"**{' '.join(said)}**"] if said else []


def origin(result: StageResult, dtype: str, n: int, words: Words) -> str:
    """Where a section's figures come from."""
    return words(
        "from",
        device=result.device,
        dtype=dtype,
        n=n,
        key=result.key[:16],
        started=_moment(result),
        duration=f"{result.duration_s:.1f}",
    )


def host_origin(result: StageResult, words: Words) -> str:
    return words(
        "from-host", key=result.key[:16], started=_moment(result), duration=f"{result.duration_s:.1f}"
    )


def _moment(result: StageResult) -> str:
    return result.started.replace("T", " ").replace("+00:00", "")


def checks(judged: Judged, words: Words) -> str:
    rows = [
        (words.check(c.id), words(c.verdict), literal(c.expected), literal(c.observed)) for c in judged.checks
    ]
    return table([words(name) for name in ("check", "verdict", "expected", "seen")], rows)


def figures(result: StageResult, words: Words) -> str:
    rows = [
        (words.label(label), literal(value)) for label, value in stage_named(result.stage).figures(result)
    ]
    return table([words("item"), words("value")], rows)


# --- verify


def smoke(evidence: Evidence, words: Words) -> list[str]:
    parts, judged = first_line(evidence, "verify", words), evidence.judged("verify")
    if judged is None:
        return parts
    measured = judged.result.measured
    random = {row["prompt"]: row["text"] for row in measured["control"]}
    asked = {prompt.id: prompt.text for prompt in evidence.recipe.prompts}
    rows = [
        (row["prompt"], *(literal(text.get(row["prompt"], "")) for text in (asked, _said(measured), random)))
        for row in measured["answers"]
    ]
    headers = [words(name) for name in ("prompt", "question", "answer", "control")]
    dtype = judged.result.inputs.get("load.dtype", evidence.recipe.load.dtype)
    return [
        *parts,
        table(headers, rows),
        checks(judged, words),
        origin(judged.result, dtype, len(rows), words),
    ]


def _said(measured: Mapping[str, Any]) -> dict[str, str]:
    return {row["prompt"]: row["text"] for row in measured["answers"]}


# --- bench


def performance(evidence: Evidence, words: Words) -> list[str]:
    parts, judged = first_line(evidence, "bench", words), evidence.judged("bench")
    if judged is None:
        return parts
    result, measured = judged.result, judged.result.measured
    rounds = measured["rounds"]
    parts.append(table([words("metric"), words("value")], _performance_rows(result, words)))
    doubts = warnings(measured)
    if doubts:
        parts.append(words("read-with-care", why="; ".join(doubts)))
    parts += [checks(judged, words), origin(result, measured["conditions"]["dtype"], len(rounds), words)]
    return parts


def _performance_rows(result: StageResult, words: Words) -> list[tuple[str, str]]:
    measured = result.measured
    rounds = measured["rounds"]
    totals = summarise([row["total_ms"] for row in rounds])
    decode = decode_tokens_per_s(measured)
    conditions = words(
        "conditions-text",
        device=result.device,
        dtype=measured["conditions"]["dtype"],
        prompt=measured["conditions"]["prompt"],
        prompt_tokens=measured["prompt_tokens"],
        new_tokens=measured["new_tokens"],
        warmup=len(measured["warmup"]),
        rounds=len(rounds),
    )
    peak = max(int(memory["peak_allocated_bytes"]) for memory in measured["memory"].values())
    return [
        (words("conditions"), conditions),
        *(
            (words("latency", name=name), f"{getattr(totals, field):.2f}")
            for name, field in LATENCIES.items()
        ),
        (words("ttft"), f"{summarise([row['ttft_ms'] for row in rounds]).p50:.2f}"),
        (words("per-token"), f"{1e3 / decode:.2f}" if decode else "-"),
        (words("throughput"), f"{tokens_per_s(measured):.2f}"),
        (words("decode"), f"{decode:.2f}"),
        (words("resident" if result.device == "cpu" else "peak"), f"{peak / 1e6:,.1f}"),
        (words("load"), f"{measured['load']['load_s']:.2f}"),
        (words("accelerations"), ", ".join(_used(measured)) or words("none")),
        (words("bound"), _bound(measured, words)),
    ]


def accelerations(evidence: Evidence) -> list[str]:
    """Those in force while bench measured."""
    measured = evidence.measured("bench")
    return _used(measured) if measured else []


def _used(measured: Mapping[str, Any]) -> list[str]:
    return [row["name"] for row in measured["load"]["accelerations"] if row["used"]]


def _bound(measured: Mapping[str, Any], words: Words) -> str:
    seen = bound(measured)
    share = seen.memory_share if seen.by == "memory" else seen.compute_share
    return words(seen.by, share=f"{share:.0%}", dispatches=f"{seen.dispatches:,}")


# --- accuracy


def accuracy(evidence: Evidence, words: Words) -> list[str]:
    parts, judged = first_line(evidence, "accuracy", words), evidence.judged("accuracy")
    if judged is None:
        return parts
    measured = judged.result.measured
    candidate, reference = (
        f"{measured[side]['device']} {measured[side]['dtype']}" for side in ("candidate", "reference")
    )
    parts.append(words("sides", candidate=candidate, reference=reference))
    names = ("positions", "cosine", "max-abs", "mean-abs", "relative-l2", "relative-mean", "top1", "text")
    rows = [_accuracy_row(row, words) for row in measured["prompts"]]
    parts.append(table([words("prompt"), *(words(name) for name in names)], rows))
    parts.append(checks(judged, words))
    parts.append(origin(judged.result, measured["candidate"]["dtype"], len(rows), words))
    return parts


def _accuracy_row(row: Mapping[str, Any], words: Words) -> Sequence[str]:
    total = {name: float(value) for name, value in row["total"].items()}
    parted = row["generation"]["first_difference"]
    return (
        row["prompt"],
        f"{row['positions']}",
        f"{total['cosine']:.6f}",
        f"{total['max_abs']:.3g}",
        f"{total['mean_abs']:.3g}",
        f"{total['relative_l2']:.4%}",
        f"{total['relative_mean']:.4%}",
        f"{total['top1_agreement']:.1%}",
        words("same") if parted is None else words("parts", token=parted),
    )


# --- what was changed, and what went wrong


def adaptation(evidence: Evidence, words: Words) -> list[str]:
    parts, judged = first_line(evidence, "patch", words), evidence.judged("patch")
    if judged is None:
        return parts
    shown = [] if _acts(judged.result.measured) else [words("no-patches")]
    return [
        *parts,
        *shown,
        figures(judged.result, words),
        checks(judged, words),
        host_origin(judged.result, words),
    ]


def _acts(measured: Mapping[str, Any]) -> bool:
    return bool(measured["sandbox"] or any(row["acts"] for row in measured["patches"]))


def notes(evidence: Evidence, words: Words) -> list[str]:
    recipe = evidence.recipe
    own = recipe.notes_zh or recipe.notes if words.lang == "zh" else recipe.notes
    lines = list(own)
    for judged in evidence.results():
        for check in judged.failed:
            line = words(
                "failure", check=check.id, expected=literal(check.expected), observed=literal(check.observed)
            )
            line += " " + words("cause", cause=literal(check.cause)) if check.cause else ""
            line += " " + words("remedy", remedy=check.remedy.splitlines()[0]) if check.remedy else ""
            lines.append(line)
    return ["\n".join(f"- {line}" for line in lines) or words("no-notes")]
