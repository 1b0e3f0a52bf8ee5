"""patch: packages and files made fit for the model, without touching what is shared."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npukit import overlay, remote_code
from npukit.context import Context
from npukit.fingerprint import digest
from npukit.host.packages import versions
from npukit.patches import Situation, choose
from npukit.proof import load
from npukit.proof.headers import read_header
from npukit.recipe import Recipe
from npukit.results import Check, StageResult
from npukit.sandbox import Pip, Plan, Sandbox, build, find, lacking, plan
from npukit.sandbox.wheelhouse import opened
from npukit.stages.base import Progress, Stage
from npukit.worker.pool import Workers


class Patch(Stage):
    """Measured is what the worker gets: which sandbox, which directory, which code, which classes."""

    name = "patch"
    version = 2
    needs = ("fetch",)
    on_device = False

    def inputs(self, context: Context) -> Mapping[str, Any]:
        runtime = context.recipe.runtime
        return {
            "weights": context.weights,
            "requires": list(runtime.requires),
            "lacking": lacking(runtime.requires),
            "patches": list(runtime.patches),
            "transformers": versions(("transformers",))["transformers"],
            "remote_code": wants_code(context),
            "pins": runtime.remote_code,
        }

    def measure(self, context: Context, workers: Workers, progress: Progress) -> dict[str, Any]:
        wanted, box = provide(context, progress)
        composed = compose(context, box)
        code = self._code(context, progress)
        place = patched_dir(context)
        if composed.edits or code:
            written = overlay.write(composed, place, copied=code)
        else:
            written = None
            overlay.undo(place)
        return {
            "requires": list(context.recipe.runtime.requires),
            "lacking": list(wanted.reasons),
            "sandbox": str(box.path) if box else "",
            "packages": box.versions() if box else {},
            "conflicts": [dataclasses.asdict(each) for each in wanted.conflicts],
            "transformers": transformers_of(box),
            "directory": str(place if written else context.directory),
            "patches": [overlay.step_record(step) for step in composed.steps],
            "before": dict(composed.before),
            "after": dict(written.after) if written else {},
            "worker": composed.worker,
            "remote_code": code,
            "intent": overlay.intent(composed, code),
            "tensors": _tensors(composed, place),
        }

    def _code(self, context: Context, progress: Progress) -> dict[str, str]:
        if not wants_code(context):
            return {}
        assert context.directory
        agree = context.options.trust_remote_code
        pins = context.recipe.runtime.remote_code
        model_dir = context.workspace.model_dir(context.recipe.name)
        if agree and remote_code.agreed(model_dir) is None:
            progress("this code will run:\n" + remote_code.listing(remote_code.code_files(context.directory)))
        return remote_code.require(context.directory, pins, model_dir, agree)

    def judge(self, recipe: Recipe, result: StageResult) -> tuple[Check, ...]:
        measured = result.measured
        return tuple(
            check
            for check in (_packages(measured), _files(measured), _every_tensor(measured), _agreed(measured))
            if check
        )

    def figures(self, result: StageResult) -> list[tuple[str, str]]:
        measured = result.measured
        rows = [("transformers", measured["transformers"]), ("sandbox", measured["sandbox"] or "none needed")]
        rows += [(f"shadowed {row['package']}", f"wants {row['wants']}, the worker has {row['gets']}")
                 for row in measured["conflicts"]]  # fmt: skip
        acting = [row for row in measured["patches"] if row["acts"]]
        rows += [(row["name"], row["note"]) for row in acting] or [("patches", "none needed")]
        rows += [("own code", f"{path} {sha256[:16]}") for path, sha256 in measured["remote_code"].items()]
        return rows

    def settle(self, context: Context, result: StageResult) -> Context:
        measured = result.measured
        content = [measured["after"], measured["worker"]]
        return dataclasses.replace(
            context,
            directory=Path(measured["directory"]),
            sandbox=Path(measured["sandbox"]) if measured["sandbox"] else None,
            patched=digest(content) if any(content) else "",
            trusts_code=bool(measured["remote_code"]),
            registrations=tuple(measured["worker"]),
        )

    def lapsed(self, context: Context, result: StageResult) -> str:
        measured, box = result.measured, None
        if measured["sandbox"]:
            box = find(context.recipe.runtime.requires, sandboxes_dir(context))
            if box is None or str(box.path) != measured["sandbox"]:
                return "the sandbox is gone or broken"
        if overlay.intent(compose(context, box), measured["remote_code"]) != measured["intent"]:
            return "the patches would do something else now"
        if measured["after"]:
            there = overlay.current(Path(measured["directory"]))
            if there is None or dict(there.after) != measured["after"]:
                return "the patched files are gone or were changed"
        model_dir = context.workspace.model_dir(context.recipe.name)
        if measured["remote_code"] and remote_code.agreed(model_dir) != measured["remote_code"]:
            return "the model's code is no longer what was agreed to"
        return ""

    def cost(self, context: Context) -> str:
        missing = lacking(context.recipe.runtime.requires)
        if not missing or find(context.recipe.runtime.requires, sandboxes_dir(context)):
            return ""
        return f"an installation of {', '.join(context.recipe.runtime.requires)} in a sandbox"


# --- the parts, which the command uses one by one as well


def sandboxes_dir(context: Context) -> Path:
    return context.workspace.root / "sandboxes"


def patched_dir(context: Context) -> Path:
    return context.workspace.model_dir(context.recipe.name) / "patched"


def provide(context: Context, progress: Progress) -> tuple[Plan, Sandbox | None]:
    """The sandbox the recipe needs, found or built. Raises sandbox.*."""
    requires, root = context.recipe.runtime.requires, sandboxes_dir(context)
    reasons = tuple(lacking(requires))
    if not reasons:
        return Plan(requires), None
    if box := find(requires, root, deep=True):
        return Plan(requires, reasons, box.packages, box.conflicts()), box
    house = context.options.wheelhouse
    pip = Pip(wheelhouse=opened(Path(house)) if house else None, cache=root / ".pip")
    progress(f"resolving {', '.join(requires)} beside what is installed")
    wanted = plan(requires, pip=pip)
    progress(f"installing {len(wanted.packages)} packages in a sandbox")
    return wanted, build(wanted, root, pip=pip)


def transformers_of(box: Sandbox | None) -> str:
    """The version that the worker will import."""
    return versions(("transformers",), box.path if box else None)["transformers"] or "none"


def compose(context: Context, box: Sandbox | None) -> overlay.Composed:
    """The recipe's patches and the standing ones, applied in memory. Raises patch.*."""
    assert context.directory
    chosen = choose(context.recipe.runtime.patches)
    situation = Situation(transformers_of(box), wants_code(context))
    proof = load(context.workspace.model_dir(context.recipe.name))
    known = {file.path: file.sha256 for file in proof.files} if proof else {}
    return overlay.compose(context.directory, chosen, situation, known)


def wants_code(context: Context) -> bool:
    """Whether the model's own code is to run: the recipe says so, or its user did, now or before."""
    model_dir = context.workspace.model_dir(context.recipe.name)
    asked = context.recipe.runtime.trust_remote_code or context.options.trust_remote_code
    return asked or remote_code.agreed(model_dir) is not None


def _tensors(composed: overlay.Composed, place: Path) -> dict[str, Any]:
    """Names in the renamed weights as they lie on disk now, against the account of the patch."""
    account = next((dict(step.account) for step in composed.steps if step.account), {})
    if not account:
        return {}
    found = [tensor.name for path in sorted(place.glob("*.safetensors")) for tensor in read_header(path)]
    names = account.pop("names")
    lost = sorted(set(names.values()) - set(found))
    return {**account, "found": len(found), "distinct": len(set(found)), "lost": lost}


# --- judging


def _packages(measured: Mapping[str, Any]) -> Check:
    wanted = ", ".join(measured["requires"])
    have = ", ".join(f"{name} {version}" for name, version in measured["packages"].items())
    serves = not measured["lacking"]
    return Check(
        "patch.packages",
        serves or bool(have),
        wanted or "nothing beyond what is installed",
        "what is installed serves" if serves else f"a sandbox with {have}",
    )


def _files(measured: Mapping[str, Any]) -> Check | None:
    if not measured["before"]:
        return None
    same = [file for file, sha256 in measured["before"].items() if measured["after"].get(file) == sha256]
    changed = [
        f"{file} {sha256[:12]} → {measured['after'].get(file, 'absent')[:12]}"
        for file, sha256 in measured["before"].items()
    ]
    return Check(
        "patch.files", not same, "every patched file differs from the published one", "; ".join(changed)
    )


def _every_tensor(measured: Mapping[str, Any]) -> Check | None:
    tensors = measured["tensors"]
    if not tensors:
        return None
    whole = not tensors["lost"] and tensors["found"] == tensors["distinct"] == tensors["tensors"]
    return Check(
        "patch.tensors",
        whole,
        f"{tensors['tensors']} tensors after renaming, none lost, none twice",
        f"{tensors['found']} tensors, {tensors['distinct']} names, {len(tensors['lost'])} lost",
        cause="" if whole else "the renamed copy was damaged while it was written",
        remedy="" if whole else "npukit patch --force",
    )


def _agreed(measured: Mapping[str, Any]) -> Check | None:
    if not measured["remote_code"]:
        return None
    files = ", ".join(f"{path} {sha256[:12]}" for path, sha256 in measured["remote_code"].items())
    copied = all(measured["after"].get(path) == sha256 for path, sha256 in measured["remote_code"].items())
    return Check("patch.remote-code", copied, "exactly the code that was agreed to", files)
