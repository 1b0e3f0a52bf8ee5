"""The adaptation report: results in, README text out. Pure but for :func:`write_report`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from npukit import __version__
from npukit.context import Context
from npukit.pipeline import Pipeline
from npukit.recipe import Recipe
from npukit.results import Judged
from npukit.stages import NAMES, STAGES, stage_named
from npukit.workspace import write_atomic

WORDS = {
    "en": {
        "title": "{title} on {device}: adaptation report",
        "environment": "Environment",
        "name": "item",
        "value": "value",
        "check": "check",
        "verdict": "verdict",
        "expected": "expected",
        "seen": "seen",
        "reproduce": "How to reproduce",
        "not_run": "This stage was not run.",
        "stale": "The stored result is no longer current: {why}.",
        "cpu": "Measured on a CPU: no NPU was involved.",
        "emulated": "Emulated: real torch_npu on host memory; no hardware was involved.",
        "made": "Written by npukit {version} from the results beside it, `results.json`.",
        "fetch": "Weights",
        "patch": "Patches",
        "verify": "Verification",
        "accuracy": "Accuracy",
        "bench": "Performance",
        "from": "Result `{key}`, {started}.",
    },
    "zh": {
        "title": "{title} 在 {device} 上的适配报告",
        "environment": "验证环境",
        "name": "项目",
        "value": "值",
        "check": "检查项",
        "verdict": "结论",
        "expected": "预期",
        "seen": "实际",
        "reproduce": "复现方法",
        "not_run": "该阶段尚未执行。",
        "stale": "已存结果已失效：{why}。",
        "cpu": "在 CPU 上测得：未涉及 NPU。",
        "emulated": "仿真结果：真实 torch_npu 运行于主机内存；未涉及任何硬件。",
        "made": "由 npukit {version} 根据同目录下的 `results.json` 生成。",
        "fetch": "权重获取",
        "patch": "适配补丁",
        "verify": "功能验证",
        "accuracy": "精度评测",
        "bench": "性能参考",
        "from": "结果 `{key}`，{started}。",
    },
}
VERDICTS = {
    "en": {"pass": "pass", "fail": "FAIL", "skip": "skip"},
    "zh": {"pass": "通过", "fail": "未通过", "skip": "跳过"},
}


def write_report(context: Context, directory: Path, lang: str) -> Path:
    """Write README.md and results.json for what is stored of this model on this device; the README's path."""
    found = stored(context)
    text = report_text(context.recipe, str(context.device), found, lang)
    results = [judged.to_json() for judged, _ in found.values() if judged is not None]
    data = json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomic(directory / "results.json", data.encode())
    write_atomic(directory / "README.md", text.encode())
    return directory / "README.md"


def stored(context: Context) -> dict[str, tuple[Judged | None, list[str]]]:
    """Per stage the result to show and, when it is not current, why."""
    pipeline = Pipeline(context, lambda text: None)
    found: dict[str, tuple[Judged | None, list[str]]] = {}
    for stage in STAGES:
        judged, why = pipeline.current(stage)
        if judged is None:
            place = str(context.device) if stage.on_device else "host"
            last = context.workspace.latest(context.recipe.name, place, stage.name)
            if last:
                judged = Judged(last[0], stage.judge(context.recipe, last[0]), True, str(last[1]))
        found[stage.name] = (judged, why)
    return found


def report_text(
    recipe: Recipe, device: str, found: dict[str, tuple[Judged | None, list[str]]], lang: str
) -> str:
    """The README. ``found`` holds per stage its result, or None, and why it is not current."""
    words = WORDS[lang]
    parts = [f"# {words['title'].format(title=recipe.title, device=device)}"]
    summary = recipe.summary_zh if lang == "zh" else recipe.summary
    parts += [summary.strip()] if summary else []
    parts += [words["made"].format(version=__version__)]
    shown = [judged for judged, _ in found.values() if judged is not None]
    if shown:
        rows = sorted(shown[-1].result.environment.items())
        parts += [f"## {words['environment']}", _table((words["name"], words["value"]), rows)]
    parts += [f"## {words['reproduce']}", f"```bash\nnpukit run {recipe.name} --device {device}\n```"]
    for name in NAMES:
        judged, why = found.get(name, (None, []))
        parts += [f"## {words[name]}", *_section(judged, why, lang)]
    notes = recipe.notes_zh if lang == "zh" else recipe.notes
    if notes:
        parts += ["## " + ("注意事项" if lang == "zh" else "Notes"), "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def _section(judged: Judged | None, why: Sequence[str], lang: str) -> list[str]:
    words = WORDS[lang]
    if judged is None:
        return [words["not_run"]]
    result = judged.result
    parts = []
    if result.emulated:
        parts.append(f"**{words['emulated']}**")
    elif result.device == "cpu":
        parts.append(f"**{words['cpu']}**")
    if why:
        parts.append(words["stale"].format(why="; ".join(why)))
    parts.append(_table((words["name"], words["value"]), stage_named(result.stage).figures(result)))
    checks = [(c.id, VERDICTS[lang][c.verdict], c.expected, c.observed) for c in judged.checks]
    parts.append(_table((words["check"], words["verdict"], words["expected"], words["seen"]), checks))
    parts.append(words["from"].format(key=result.key[:16], started=result.started))
    return parts


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    safe = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return tabulate(safe, headers=headers, tablefmt="github", disable_numparse=True)
