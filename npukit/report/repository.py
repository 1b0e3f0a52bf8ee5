"""The repository that an adaptation is published as: a report with scripts that need no npukit."""

from __future__ import annotations

import json
import pprint
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from npukit.context import Context
from npukit.errors import NpukitError
from npukit.report import illustrations, placeless, require_consistent, results_json
from npukit.report.document import document, front_matter
from npukit.report.evidence import Evidence
from npukit.report.marks import compose
from npukit.report.sections import accelerations
from npukit.report.words import Words
from npukit.workspace import write_atomic

TEMPLATES = Path(__file__).parent / "templates"
AUTO_CLASSES = {
    "text-generation": "AutoModelForCausalLM",
    "image-text-to-text": "AutoModelForImageTextToText",
}
INPUTS = "assets/inputs"
ONE_PERCENT = 0.01  # what published adaptations are judged by


def write_repository(
    context: Context,
    evidence: Evidence,
    directory: Path,
    lang: str,
    *,
    pictures: bool | None = None,
    screenshots: Mapping[str, bytes] | None = None,
    logs: Mapping[str, str] | None = None,
) -> Path:
    """Write everything to ``directory``; the README's path. Raises NpukitError ``report.*``."""
    require_consistent(evidence)
    _require_plain(context, evidence)
    words = Words(lang)
    shown, files = illustrations(evidence, words, pictures, screenshots or {})
    readme = directory / "README.md"
    old = readme.read_text(encoding="utf-8") if readme.is_file() else None
    model = "" if hubs(evidence) else " --model DIRECTORY"
    names = ("inference.py", "eval/eval_accuracy.py", "eval/eval_performance.py")
    lines = [f"python {name}{model} --device {evidence.device}" for name in names]
    blocks = document(evidence, words, results="results/", pictures=shown, scripts=lines)
    text = compose(blocks, front_matter(evidence), old, str(readme))
    files.update({name: content.encode() for name, content in scripts(context, evidence).items()})
    files["requirements.txt"] = requirements(evidence).encode()
    files.update({f"results/{one.result.stage}.json": results_json([one]) for one in evidence.results()})
    files.update({f"logs/{name}.txt": placeless(content).encode() for name, content in (logs or {}).items()})
    files.update(_carried(context, evidence))
    for path, content in files.items():
        write_atomic(directory / path, content)
    write_atomic(readme, placeless(text).encode())
    return readme


def _require_plain(context: Context, evidence: Evidence) -> None:
    """What the scripts cannot do by themselves is refused, not left out."""
    recipe, patch = evidence.recipe, evidence.measured("patch")
    why = ""
    if recipe.task not in AUTO_CLASSES:
        why = f"there is no template for {recipe.task}"
    elif patch is None or context.directory is None:
        why = "its files are not settled: npukit patch"
    elif patch["worker"] or patch["remote_code"]:
        why = "it brings its own code or classes"
    elif any(name.endswith(".safetensors") for name in patch["after"]):
        why = "its weights are renamed"
    if why:
        raise NpukitError("report.not-alone", model=recipe.name, why=why)


def scripts(context: Context, evidence: Evidence) -> dict[str, str]:
    """The three scripts by path."""
    recipe = evidence.recipe
    image = recipe.task == "image-text-to-text"
    shared = {"title": recipe.title}
    settings = {
        "HUBS": hubs(evidence),
        "REVISION": recipe.source.revision,
        "AUTO_CLASS": AUTO_CLASSES[recipe.task],
        "DEVICE": evidence.device,
        "DTYPE": _verified_dtype(evidence),
        "ATTENTION": recipe.load.attention,
        "PRECISION": recipe.load.precision,
        "OPTIONS": dict(recipe.generation.inputs),
        "MAX_NEW_TOKENS": recipe.generation.max_new_tokens,
        "PROMPTS": [_prompt(prompt) for prompt in recipe.prompts],
    }
    accuracy, bench = evidence.measured("accuracy"), recipe.bench
    candidate = accuracy["candidate"]["dtype"] if accuracy else recipe.accuracy.dtype
    measured = evidence.measured("bench")
    asked = measured["conditions"] if measured else {}
    performance = {
        "PROMPT": recipe.prompt(bench.prompt).id,
        "WARMUP": asked.get("warmup", bench.warmup),
        "ROUNDS": asked.get("rounds", bench.rounds),
        "NEW_TOKENS": asked.get("new_tokens", bench.new_tokens),
    }
    usage = " --image cat.png" if image else ""
    task = _filled("task_image", processor=_processor(context)) if image else _filled("task_text")
    return {
        "inference.py": _filled(
            "inference", settings=_python(settings), task=task, image_usage=usage, **shared
        ),
        "eval/eval_accuracy.py": _filled(
            "eval_accuracy", settings=_python({"CANDIDATE": candidate, "LIMIT": ONE_PERCENT}), **shared
        ),
        "eval/eval_performance.py": _filled(
            "eval_performance", settings=_python(performance), accelerated=_accelerated(evidence), **shared
        ),
    }


def _accelerated(evidence: Evidence) -> str:
    """What the report's figures had and the scripts have not."""
    used = accelerations(evidence)
    return (
        f"\nThe report's own figures were measured with {', '.join(used)}, which this script lacks.\n"
        if used
        else ""
    )


def _filled(name: str, **fields: str) -> str:
    text = (TEMPLATES / f"{name}.py.tmpl").read_text(encoding="utf-8")
    return Template(text).substitute(fields)


def _python(values: Mapping[str, Any]) -> str:
    """Assignments whose values are written as Python."""
    return (
        "\n".join(
            f"{name} = {pprint.pformat(value, width=100, sort_dicts=False)}" for name, value in values.items()
        )
        + "\n"
    )


def _processor(context: Context) -> str:
    assert context.directory
    config = json.loads((context.directory / "config.json").read_text(encoding="utf-8"))
    return _filled(
        "processor_minicpmv" if config.get("model_type") == "minicpmv4_6" else "processor_auto"
    ).strip()


def _prompt(prompt: Any) -> dict[str, Any]:
    extra = {"images": [f"{INPUTS}/{Path(name).name}" for name in prompt.images], "system": prompt.system}
    return {"id": prompt.id, "text": prompt.text, **{name: value for name, value in extra.items() if value}}


def _verified_dtype(evidence: Evidence) -> str:
    judged = evidence.judged("verify")
    return judged.result.inputs.get("load.dtype", "") if judged else evidence.recipe.load.dtype


def hubs(evidence: Evidence) -> dict[str, str]:
    """Where a script can take the files from."""
    source = evidence.recipe.source
    named = {"huggingface": source.huggingface, "modelscope": source.modelscope}
    return {hub: name for hub, name in named.items() if name}


def requirements(evidence: Evidence) -> str:
    """What the recipe needs, and the versions that were there when it was measured."""
    ran = [judged.result.environment for judged in evidence.on_device()]
    versions = ran[-1] if ran else {}
    names = [
        "transformers",
        "tokenizers",
        *(["pillow"] if evidence.recipe.task == "image-text-to-text" else []),
    ]
    own = "".join(
        f"# {name} {versions[name]} (as installed; not to be changed)\n"
        for name in ("torch", "torch_npu")
        if name in versions
    )
    return own + "".join(
        f"{name}=={versions[name].partition('+')[0]}\n" for name in names if name in versions
    )


def _carried(context: Context, evidence: Evidence) -> dict[str, bytes]:
    """Pictures of the prompts, and the patched files."""
    patch, directory = evidence.measured("patch"), context.directory
    assert patch is not None and directory is not None
    pictures = [name for prompt in evidence.recipe.prompts for name in prompt.images]
    carried = {f"{INPUTS}/{Path(name).name}": context.picture(name).read_bytes() for name in pictures}
    return {**carried, **{f"patched/{name}": (directory / name).read_bytes() for name in patch["after"]}}
