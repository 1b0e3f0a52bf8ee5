"""What vllm-ascend of one release would make of a model directory, told before it is started.

Read from configuration, tensor names and that release's source; vLLM is neither needed nor run. What is not
known is said to be so (a skipped check), never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from npukit.patches.tokenizer_class import GENERIC
from npukit.results import Check
from npukit.targets.model import Model
from npukit.targets.release import Loader, Release, facts, loader

SHOWN = 4


def report(model: Model, release: Release) -> tuple[Check, ...]:
    """One check for each thing that stops a model from being served."""
    return (
        _architecture(model, release),
        _transformers(model, release),
        _tokenizer(model, release),
        _attention(model, release),
        _tensors(model, release),
        _own_code(model),
    )


def remedies(model: Model, release: Release) -> list[dict[str, Any]]:
    """Patches, as a recipe would write them, that mend what can be mended in a copy of the files."""
    entries: list[dict[str, Any]] = []
    if _backend(model, release)[1] is None and _droppable(model):
        prefix = "text_config." if model.text is not model.config else ""
        entries.append({"name": "config-keys", "drop": [f"{prefix}index_topk"]})
    reader = loader(model.architecture)
    if reader and (rules := _renaming(model.tensors, reader)):
        entries.append({"name": "weight-keys", "rename": rules})
    return entries


def _architecture(model: Model, release: Release) -> Check:
    reader, name = loader(model.architecture), model.architecture or "none"
    if reader is None:
        return Check(
            "vllm.architecture", None, "a class that reads this architecture", f"{name}: not known here"
        )
    there = release.has(reader.since)
    seen = "it has" if there else f"it comes with {reader.since}"
    return Check(
        "vllm.architecture",
        there,
        f"vllm-ascend {release.version} has a class for {name}",
        seen,
        cause="" if there else "an older release falls back on transformers' own class, or refuses the model",
        remedy="" if there else f"vllm-ascend {reader.since} or newer, or a plugin that registers the model",
    )


def _transformers(model: Model, release: Release) -> Check:
    kind = str(model.config.get("model_type", ""))
    first = facts()["transformers"].get(kind)
    expected = f"a transformers that knows {kind or 'the model'}"
    if "auto_map" in model.config:
        return Check(
            "vllm.transformers", None, expected, "the model's own code is read with --trust-remote-code"
        )
    if first is None:
        return Check("vllm.transformers", None, expected, f"since when {kind} is there is not known here")
    pin = Requirement(release.pin)
    if Version(release.reads) >= Version(first):
        verdict: bool | None = True
    else:
        verdict = None if pin.specifier.contains(first) else False
    return Check(
        "vllm.transformers",
        verdict,
        f"{expected} ({first} or newer)",
        f"vllm-ascend {release.version} requires {release.pin}",
        cause="the configuration is refused: model type not recognised" if verdict is False else "",
        remedy="a release that requires a newer transformers: vLLM sees no sandbox"
        if verdict is False
        else "",
    )


def _tokenizer(model: Model, release: Release) -> Check:
    old = Version(release.reads) < Version("5")
    bad = old and model.tokenizer_class == GENERIC
    return Check(
        "vllm.tokenizer",
        not bad,
        f"a tokenizer class that transformers {release.reads} has",
        model.tokenizer_class or "none named",
        cause=f"ValueError: Tokenizer class {GENERIC} does not exist" if bad else "",
        remedy="npukit patch --target vllm   # names it PreTrainedTokenizerFast in a copy" if bad else "",
    )


def _attention(model: Model, release: Release) -> Check:
    key, backend = _backend(model, release)
    expected = f"an attention backend for the key of release {release.version}"
    if backend:
        return Check("vllm.attention", True, expected, f"({key}) → {backend}")
    asking = "index_topk" if model.has("index_topk") else "compress_ratios"
    where = "the model's own configuration class sets it" if asking in model.own else "config.json has it"
    return Check(
        "vllm.attention",
        False,
        expected,
        f"KeyError: ({key})",
        cause=f"{asking} asks for a kind of attention that has no backend here; {where}",
        remedy="npukit patch --target vllm   # drops it in a copy"
        if _droppable(model)
        else f"a model_type and configuration class without {asking}",
    )


def _droppable(model: Model) -> bool:
    """Whether index_topk goes away when it is dropped from config.json."""
    return "index_topk" in model.text and "index_topk" not in model.own


def _backend(model: Model, release: Release) -> tuple[str, str | None]:
    """The key as the release computes it, and the backend it leads to, if any."""
    compressed = model.has("compress_ratios")
    since = facts()["mla"]["compressed"].get(model.model_type)
    if since and release.has(since):
        latent = compressed and model.has("head_dim")
    else:
        latent = model.model_type in facts()["mla"]["model_types"] and model.has("kv_lora_rank")
    sparse = model.has("index_topk")
    key: tuple[bool, ...] = (latent, sparse)
    if release.attention == "triple":
        key = (latent, sparse and not compressed, compressed)
    text = ", ".join(map(str, key))
    return text, facts()["backends"][release.attention].get(text)


def _tensors(model: Model, release: Release) -> Check:
    expected, reader = "a place for every tensor of the checkpoint", loader(model.architecture)
    if reader is None or not reader.places or not model.tensors or not release.has(reader.since):
        why = "the checkpoint is not safetensors" if not model.tensors else "the loader is not known here"
        return Check("vllm.tensors", None, expected, why)
    lost = [name for name in model.tensors if not reader.placed(name)]
    more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    rules = _renaming(model.tensors, reader)
    return Check(
        "vllm.tensors",
        not lost,
        expected,
        f"{len(lost)} of {len(model.tensors)} without one: {', '.join(lost[:SHOWN])}{more}"
        if lost
        else f"{len(model.tensors)} of {len(model.tensors)} placed",
        cause=_refusal(lost[0], reader) if lost else "",
        remedy=(
            "npukit patch --target vllm   # renames them in a copy"
            if rules
            else "a plugin with its own loader"
        )
        if lost
        else "",
    )


def _own_code(model: Model) -> Check:
    auto_map = model.config.get("auto_map") or {}
    named = [str(value) for key, value in auto_map.items() if key.startswith("AutoModel")]
    expected = "the class that the model was made with"
    if not named:
        return Check("vllm.own-code", True, expected, "the model brings no code of its own")
    return Check(
        "vllm.own-code",
        None,
        expected,
        f"{named[0]} is the model's own; vLLM's of that name may compute something else; no file tells",
        remedy="npukit verify   # then compare these answers with vLLM's before serving",
    )


def _refusal(name: str, reader: Loader) -> str:
    """What the loader says of the first tensor it cannot place."""
    first = name.partition(".")[0]
    if first not in reader.children:
        return f"ValueError: There is no module or parameter named '{first}' in {reader.architecture}"
    return f"a KeyError or ValueError that names {name}, in {reader.architecture}.load_weights"


def _renaming(names: Sequence[str], reader: Loader) -> list[list[str]]:
    """The candidate rules that give a place to tensors that have none and take it from no other."""
    import re

    rules = []
    for pattern, replacement in reader.candidates:
        rule = re.compile(pattern)
        fitting = [(name, match.expand(replacement)) for name in names if (match := rule.fullmatch(name))]
        if fitting and all(reader.placed(new) and not reader.placed(old) for old, new in fitting):
            rules.append([pattern, replacement])
    return rules
