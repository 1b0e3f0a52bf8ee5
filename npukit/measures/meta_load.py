"""The checkpoint's headers against the model on the meta device: seconds for any size, no weight is read.

Also, after the load, whether the values of the file are the values of the model: a parameter that the
library initialised silently, or filled from elsewhere, shows by them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import AutoConfig

from npukit import registration
from npukit.proof.headers import Tensor, read_header
from npukit.session import LoadSpec, Session
from npukit.slots import Slot, match, pattern_of
from npukit.tasks import Task

# (names of the model, whether the values are rebuilt on the way)
Landing = tuple[tuple[str, ...], bool]
SAMPLED_ROWS = 8  # at either end of a large tensor
SMALL_ELEMENTS = 1 << 16
DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
    torch.bool: "BOOL",
}  # fmt: skip


def weight_files(directory: Path) -> list[Path]:
    """The safetensors files that a load reads: the index's, else the one, else all."""
    index = directory / "model.safetensors.index.json"
    if index.is_file():
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return [directory / name for name in sorted(names)]
    single = directory / "model.safetensors"
    return [single] if single.is_file() else sorted(directory.glob("*.safetensors"))


def headers_against_model(spec: LoadSpec, task: Task) -> dict[str, Any]:
    """``match``'s groups for the files of ``spec.directory``; ``{"unavailable": why}`` for a class that
    cannot be built without memory."""
    tensors = {t.name: t for path in weight_files(Path(spec.directory)) for t in read_header(path)}
    if not tensors:
        return {"unavailable": "there is no safetensors file"}
    try:
        model = _on_meta(spec, task)
    except (RuntimeError, NotImplementedError, ValueError, TypeError) as error:
        return {"unavailable": f"{type(error).__name__} while building the model on the meta device: {error}"}
    state = model.state_dict(keep_vars=True)
    land = landing_of(model, state)
    file = {name: Slot(tensor.shape, tensor.dtype) for name, tensor in tensors.items()}
    slots = {name: Slot(tuple(t.shape), DTYPES.get(t.dtype, str(t.dtype))) for name, t in state.items()}
    found = match(file, slots, {name: land(name)[0] for name in file}, ties=_ties(state))
    found["missing"] = _heeded(model, found["missing"], "_keys_to_ignore_on_load_missing")
    found["unexpected"] = _heeded(model, found["unexpected"], "_keys_to_ignore_on_load_unexpected")
    return found


def values_landed(session: Session) -> dict[str, Any]:
    """Each tensor of the file against the parameter it became: all of a small one, both ends of a large one.

    Gives ``compared``, ``rebuilt`` (merged or split on the way, so not comparable value by value),
    ``different`` (patterns), ``initial`` (patterns of parameters that no tensor of the file became) and
    ``constant`` (names of matrices whose values are all the same).
    """
    model = session.model
    state = model.state_dict(keep_vars=True)
    land = landing_of(model, state)
    compared = rebuilt = 0
    different: list[str] = []
    covered: set[str] = set()
    for path in weight_files(Path(session.spec.directory)):
        rows = read_header(path)
        with safe_open(path, framework="pt") as file:
            for row in rows:
                targets, changed = land(row.name)
                present = [name for name in targets if name in state]
                covered.update(present)
                if changed or len(present) != 1 or tuple(state[present[0]].shape) != row.shape:
                    rebuilt += bool(present)
                    continue
                compared += 1
                if not _same_values(file, row, state[present[0]].detach()):
                    different.append(present[0])
    for tie in _ties(state):
        if covered & tie:
            covered |= tie
    initial = [name for name, _ in model.named_parameters() if name not in covered]
    constant = [
        name
        for name, one in model.named_parameters()
        if name.endswith("weight")
        and one.dim() > 1
        and one.numel() > 1
        and bool((one == one.reshape(-1)[0]).all())
    ]
    return {
        "compared": compared,
        "rebuilt": rebuilt,
        "different": sorted({pattern_of(name) for name in different}),
        "initial": sorted({pattern_of(name) for name in initial}),
        "constant": sorted(constant),
    }


def _on_meta(spec: LoadSpec, task: Task) -> Any:
    registration.apply(spec.registrations, spec.directory, spec.trust_remote_code)
    config = AutoConfig.from_pretrained(spec.directory, trust_remote_code=spec.trust_remote_code)
    with torch.device("meta"):
        model = task.auto_class().from_config(config, trust_remote_code=spec.trust_remote_code)
    model.tie_weights()
    return model


def _ties(state: dict[str, torch.Tensor]) -> list[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for name, tensor in state.items():
        groups.setdefault(id(tensor), set()).add(name)
    return [frozenset(names) for names in groups.values() if len(names) > 1]


def landing_of(model: Any, state: dict[str, torch.Tensor]) -> Callable[[str], Landing]:
    """Which names of the model a name of the file becomes, by the library's own rules."""
    try:
        from transformers.conversion_mapping import get_model_conversion_mapping
        from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key
    except ImportError:  # before transformers 5
        return lambda name: ((_classic(name, model, state),), False)
    mapping = get_model_conversion_mapping(model)
    renamings = [entry for entry in mapping if isinstance(entry, WeightRenaming)]
    converters = [entry for entry in mapping if isinstance(entry, WeightConverter)]
    by_source = {source: entry for entry in converters for source in entry.source_patterns}

    def land(name: str) -> Landing:
        renamed, source = rename_source_key(name, renamings, converters, model.base_model_prefix, state)
        if renamed not in state and name in state:
            return (name,), False
        if source is None:
            return (renamed,), False
        first, *others = by_source[source].target_patterns
        return (renamed, *(renamed.replace(first, other) for other in others)), True

    return land


def _classic(name: str, model: Any, state: dict[str, torch.Tensor]) -> str:
    """transformers 4: a table of regular expressions of the class, then the base model's prefix."""
    for pattern, replacement in (getattr(model, "_checkpoint_conversion_mapping", None) or {}).items():
        renamed, count = re.subn(pattern, replacement, name)
        if count:
            name = renamed
            break
    prefix = f"{model.base_model_prefix}."
    if name not in state and prefix + name in state:
        return prefix + name
    if name not in state and name.removeprefix(prefix) in state:
        return name.removeprefix(prefix)
    return name


def _heeded(model: Any, groups: list[dict[str, Any]], attribute: str) -> list[dict[str, Any]]:
    """Without the names that the class itself says do not matter."""
    ignored = getattr(model, attribute, None) or ()
    return [row for row in groups if not any(re.search(pattern, row["example"]) for pattern in ignored)]


def _same_values(file: Any, row: Tensor, parameter: torch.Tensor) -> bool:
    if row.parameters <= SMALL_ELEMENTS or not row.shape or row.shape[0] <= 2 * SAMPLED_ROWS:
        pairs = [(file.get_tensor(row.name), parameter)]
    else:
        rows, count = file.get_slice(row.name), row.shape[0]
        pairs = [
            (rows[:SAMPLED_ROWS], parameter[:SAMPLED_ROWS]),
            (rows[count - SAMPLED_ROWS :], parameter[count - SAMPLED_ROWS :]),
        ]
    return all(
        torch.equal(torch.nan_to_num(said.to(kept.dtype)), torch.nan_to_num(kept.cpu()))
        for said, kept in pairs
    )
