"""Have the files of a model, whole and proven: fetch, recheck, repair, and the plan of a fetch."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from npukit import proof as proofs
from npukit.errors import NpukitError
from npukit.proof import Proof
from npukit.recipe import Recipe
from npukit.sources import Listing, Source, Want
from npukit.sources.assets import fetch_assets
from npukit.sources.base import Job
from npukit.sources.order import FetchOptions, answers, asked, first_that_gives, ids
from npukit.workspace import Workspace

Progress = Callable[[str], None]


def proven(recipe: Recipe, workspace: Workspace) -> Proof | None:
    """The proof of what was fetched, when it is whole and no file was touched since; reads no file."""
    proof = proofs.load(workspace.model_dir(recipe.name))
    if proof is None or not proof.whole or proof.asked.get("ids") != ids(recipe):
        return None
    return proof if proofs.untouched(proof) else None


def fetch_model(recipe: Recipe, workspace: Workspace, options: FetchOptions, progress: Progress) -> Proof:
    """The files of ``recipe``, proven. A proof that still holds, of the same files, is taken as it is.

    Raises NpukitError ``fetch.*``.
    """
    directory = workspace.model_dir(recipe.name)
    with _alone(workspace, recipe.name, progress):
        kept = proofs.load(directory)
        holds = kept and answers(kept.asked, recipe, options) and proven(recipe, workspace)
        if kept is None or options.force or not holds:
            kept = _fetch(recipe, directory, options, progress, kept)
        elif options.deep and not kept.deep:
            kept = proofs.recheck(kept, deep=True, progress=progress)
            proofs.save(kept, directory)
        fetch_assets(recipe, workspace.assets(recipe.name), options, progress)
        return kept


def _fetch(
    recipe: Recipe, directory: Path, options: FetchOptions, progress: Progress, kept: Proof | None
) -> Proof:
    """Bring and prove the files, and keep the proof."""

    def take(place: Source, listing: Listing, want: Want) -> Proof:
        from npukit.download.transfer import Transfer  # not before it is needed: it takes 80 ms

        transfer = Transfer(place.name, progress, stall_s=options.stall_s)
        with transfer.session:
            brought = place.bring(listing, Job(want, directory / "files", transfer, kept))
        return proofs.prove(
            recipe.name,
            brought.root,
            brought.files,
            revision=listing.revision,
            deep=options.deep,
            progress=progress,
        )

    with _scratch(directory) as scratch:
        proof = first_that_gives(recipe, options, scratch, progress, take)
    proof = replace(proof, asked=asked(recipe, options))
    _drop_what_left(kept, proof, directory / "files")
    proofs.save(proof, directory)
    return proof


def recheck(recipe: Recipe, workspace: Workspace, deep: bool, progress: Progress) -> Proof:
    """Hash again what was fetched; the new proof is kept. Raises NpukitError ``fetch.not-fetched``."""
    directory = workspace.model_dir(recipe.name)
    with _alone(workspace, recipe.name, progress):
        kept = proofs.load(directory)
        if kept is None:
            raise NpukitError("fetch.not-fetched", model=recipe.name)
        proof = proofs.recheck(kept, deep=deep, progress=progress)
        proofs.save(proof, directory)
        return proof


def repair(recipe: Recipe, workspace: Workspace, options: FetchOptions, progress: Progress) -> Proof:
    """Recheck, then bring only what is wrong, of the same revision, from the source it came from.

    Raises NpukitError ``fetch.*``; ``fetch.in-place`` when the files are not npukit's to change.
    """
    proof = recheck(recipe, workspace, options.deep, progress)
    if proof.whole:
        return proof
    directory = workspace.model_dir(recipe.name) / "files"
    if proof.root != directory:
        wrong = ", ".join(sorted({fault.path for fault in proof.faults}))
        raise NpukitError("fetch.in-place", path=str(proof.root), wrong=wrong)
    for path in sorted({fault.path for fault in proof.faults}):
        progress(f"{path}: wrong, fetched again")
        (directory / path).unlink(missing_ok=True)
    before = proof.asked
    again = replace(
        options,
        source=options.source or before.get("source", ""),
        revision=options.revision or proof.revision or before.get("revision", ""),
        include=tuple(before.get("include", ())),
        exclude=tuple(before.get("exclude", ())),
        force=True,
    )
    return fetch_model(recipe, workspace, again, progress)


@dataclass(frozen=True)
class Plan:
    """What a fetch would do: sizes in bytes, the time at a rate measured on the first bytes."""

    model: str
    listing: Listing
    here: tuple[str, ...]
    download_bytes: int
    free_bytes: int
    rate_bytes_per_s: float

    @property
    def seconds(self) -> float | None:
        if not self.download_bytes:
            return 0.0
        return self.download_bytes / self.rate_bytes_per_s if self.rate_bytes_per_s else None

    def to_json(self) -> dict[str, Any]:
        files = [
            {"path": f.path, "bytes": f.size, "sha256": f.sha256 or None, "here": f.path in self.here}
            for f in self.listing.files
        ]
        return {
            "model": self.model,
            "source": self.listing.source,
            "repo": self.listing.repo,
            "revision": self.listing.revision,
            "files": files,
            "bytes": self.listing.size,
            "download_bytes": self.download_bytes,
            "free_bytes": self.free_bytes,
            "rate_bytes_per_s": self.rate_bytes_per_s,
            "seconds": self.seconds,
        }


def plan_fetch(recipe: Recipe, workspace: Workspace, options: FetchOptions, progress: Progress) -> Plan:
    """List what a fetch would bring. A file counts as here when one of its size lies there or in a cache."""
    directory = workspace.model_dir(recipe.name)

    def take(place: Source, listing: Listing, want: Want) -> Plan:
        roots = [directory / "files", *(copy.root for copy in want.copies)]
        here = tuple(
            file.path
            for file in listing.files
            if place.name in ("local", "builtin") or any(_has(root / file.path, file.size) for root in roots)
        )
        missing = [file for file in listing.files if file.path not in here]
        rate = 0.0
        if missing:
            largest = max(missing, key=lambda file: file.size)
            from npukit.download.transfer import Transfer, measure_rate

            address = place.address(listing, largest.path)
            rate = measure_rate(address, Transfer(place.name, progress)) if address else 0.0
        free = shutil.disk_usage(next(p for p in (directory, *directory.parents) if p.exists())).free
        return Plan(recipe.name, listing, here, sum(f.size for f in missing), free, rate)

    with tempfile.TemporaryDirectory(prefix="npukit-plan-") as scratch:
        return first_that_gives(recipe, options, Path(scratch), progress, take)


def _has(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


@contextlib.contextmanager
def _alone(workspace: Workspace, model: str, progress: Progress) -> Iterator[None]:
    """Only one fetch of a model at a time; a second waits, and then finds the work done."""
    path = workspace.locks / f"fetch-{model}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a")
    except OSError as error:
        raise NpukitError(
            "workspace.unwritable", path=str(path), reason=error.strerror or str(error)
        ) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"another fetch of {model} is under way; waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """A directory on the same disk that does not outlive the fetch, nor the next one when this is killed."""
    path = directory / "scratch"
    try:
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        yield path
    except OSError as error:
        raise NpukitError(
            "workspace.unwritable", path=str(path), reason=error.strerror or str(error)
        ) from error
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _drop_what_left(before: Proof | None, now: Proof, files: Path) -> None:
    """Remove files of an earlier fetch that the model no longer has, so that no loader picks them up.

    Other --include or --exclude of the same revision only choose: what was whole stays for the next fetch.
    """
    if before is None or before.root != files:
        return
    chosen = any(before.asked.get(name) != now.asked.get(name) for name in ("include", "exclude"))
    if chosen and before.revision == now.revision:
        return
    for path in {file.path for file in before.files} - {file.path for file in now.files}:
        (files / path).unlink(missing_ok=True)
