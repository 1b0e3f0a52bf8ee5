"""The report as marked Markdown blocks, in the order of the published notes. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from npukit import __version__
from npukit.report import commands, sections
from npukit.report.evidence import Evidence
from npukit.report.marks import Block
from npukit.report.tables import table
from npukit.report.words import Words

NPU_TAGS = ("NPU", "Ascend")


@dataclass(frozen=True)
class Picture:
    """One picture beside the README: its path there and what it shows."""

    path: str
    title: str


def document(
    evidence: Evidence,
    words: Words,
    *,
    results: str = "results.json",
    pictures: Sequence[Picture] = (),
    scripts: Sequence[str] = (),
) -> list[Block]:
    """Every section as a block. ``scripts`` are command lines that need no npukit."""
    recipe = evidence.recipe
    summary = (recipe.summary_zh or recipe.summary) if words.lang == "zh" else recipe.summary
    title = f"# {words('title', title=recipe.title, device=evidence.device)}"
    introduction = [title, f"## {words('introduction')}", summary.strip(), _overview(evidence, words)]
    parts = {
        "environment": _environment(evidence, words),
        "setup": _setup(evidence, words),
        "inference": _inference(evidence, words, scripts),
        "smoke": sections.smoke(evidence, words),
        "performance": sections.performance(evidence, words),
        "accuracy": sections.accuracy(evidence, words),
        "screenshots": [f"![{one.title}]({one.path})" for one in pictures],
        "adaptation": sections.adaptation(evidence, words),
        "notes": sections.notes(evidence, words),
        "tags": [" ".join(f"`{tag}`" for tag in tags(evidence))],
    }
    made = words("made", version=__version__, results=results)
    blocks = [Block("introduction", _joined([*introduction, made]))]
    blocks += [
        Block(name, _joined([f"## {words(name)}", *texts])) for name, texts in parts.items() if any(texts)
    ]
    return blocks


def front_matter(evidence: Evidence) -> Block:
    """The YAML that model hubs read. ``hardware: NPU`` stands only where an NPU computed."""
    recipe = evidence.recipe
    lines = [f"license: {json.dumps(recipe.license.lower())}"] if recipe.license else []
    lines += ["library_name: transformers"]
    lines += [f"pipeline_tag: {recipe.task}"] if recipe.task != "auto" else []
    base = recipe.source.huggingface or recipe.source.modelscope
    lines += [f"base_model: {json.dumps(base)}"] if base else []
    lines += [f"hardware: {'NPU' if evidence.on_npu else 'CPU'}", "tags:"]
    lines += [f"- {json.dumps(tag, ensure_ascii=False)}" for tag in tags(evidence)]
    return Block("front", "\n".join(lines), yaml=True)


def tags(evidence: Evidence) -> list[str]:
    own = NPU_TAGS if evidence.on_npu else ()
    return list(dict.fromkeys([*own, *evidence.recipe.tags]))


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _overview(evidence: Evidence, words: Words) -> str:
    """One line per stage: the verdict at a glance."""
    rows = []
    for stage, found in evidence.found.items():
        judged = found.judged
        if judged is None:
            rows.append((stage, words("absent"), "-"))
            continue
        verdict = words("pass" if judged.passed else "fail")
        verdict += "" if found.current else f" ({words('old')})"
        counted = Counter(check.verdict for check in judged.checks)
        told = [f"{counted[name]} {words(name)}" for name in ("pass", "fail", "skip") if counted[name]]
        rows.append((stage, verdict, ", ".join(told)))
    return table([words("stage"), words("verdict"), words("checks")], rows)


def _environment(evidence: Evidence, words: Words) -> list[str]:
    ran = list(evidence.on_device())
    if not ran:
        return [f"**{words('not-run', command=commands.reproducing(evidence))}**"]
    last = max((judged.result for judged in ran), key=lambda result: result.started)
    card = last.measured.get("device", {})
    rows = dict(last.environment)
    if card.get("name") and last.device != "cpu":
        rows["card"] = card["name"]
    if card.get("total_bytes"):
        rows["memory"] = f"{card['total_bytes'] / 1e9:.1f} GB"
    rows["npukit"] = last.npukit
    note = words("emulated") if last.emulated else words("cpu") if last.device == "cpu" else ""
    shown = [(words.label(name), value) for name, value in sorted(rows.items())]
    return [f"**{note}**" if note else "", table([words("item"), words("value")], shown)]


def _setup(evidence: Evidence, words: Words) -> list[str]:
    parts = sections.first_line(evidence, "fetch", words)
    judged = evidence.judged("fetch")
    parts += [words("get"), _console(commands.measuring(evidence, "fetch"))]
    if judged is not None:
        parts += [sections.figures(judged.result, words), sections.host_origin(judged.result, words)]
    if evidence.recipe.runtime.requires:
        parts += [words("sandbox"), _console(commands.measuring(evidence, "patch"))]
    return parts


def _inference(evidence: Evidence, words: Words, scripts: Sequence[str]) -> list[str]:
    parts = [words("reproduce"), _console(commands.reproducing(evidence))]
    if evidence.recipe.prompts:
        parts += [words("ask"), _console(commands.asking(evidence))]
    if not scripts:
        return parts
    used = sections.accelerations(evidence)
    slower = words("alone-slower", names=", ".join(used)) if used else ""
    return [*parts, words("alone"), _console(*scripts), slower]


def _console(*lines: str) -> str:
    return "```bash\n" + "\n".join(lines) + "\n```"
