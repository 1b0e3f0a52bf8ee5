"""pip, as a child of the same interpreter: the user's mirror, proxies, certificates and constraints apply."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npukit.errors import NpukitError

# Settings that would send an install elsewhere, or make pip blind to what is installed.
REDIRECTING = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_IGNORE_INSTALLED", "PIP_UPGRADE", "PIP_REPORT")
UNREACHABLE = ("Retrying (Retry", "Max retries exceeded", "Could not fetch URL", "ProxyError", "SSLError")


@dataclass(frozen=True)
class Pip:
    """How pip is called. With a wheelhouse, only that directory is asked and no index."""

    wheelhouse: Path | None = None
    cache: Path | None = None
    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def __call__(self, verb: str, *arguments: str, about: str) -> None:
        """Run ``pip VERB``; ``about`` says in an error what was asked for.

        Raises sandbox.no-pip, old-pip, hash-mismatch, unreachable, unresolved or pip-failed.
        """
        command = [self.python, "-m", "pip", verb, "--quiet", "--no-input", "--disable-pip-version-check"]
        if self.wheelhouse:
            command += ["--no-index", "--find-links", str(self.wheelhouse.resolve())]
        # An empty working directory, for `-m` puts it on sys.path: a user's own packaging.py would be taken.
        with tempfile.TemporaryDirectory() as empty:
            done = subprocess.run(
                [*command, *arguments],
                env=self._environment(),
                cwd=empty,
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode:
            raise NpukitError(fault(done.stderr), about=about, detail=essence(done.stderr))

    def _environment(self) -> dict[str, str]:
        own = {name: value for name, value in self.environment.items() if name not in REDIRECTING}
        own.update(PIP_USER="0", PYTHONDONTWRITEBYTECODE="1")
        if self.cache:
            own.setdefault("PIP_CACHE_DIR", str(self.cache.resolve()))
        return own


def fault(stderr: str) -> str:
    """The code of the error: which of the known ways pip failed in."""
    if "No module named pip" in stderr:
        return "sandbox.no-pip"
    if "no such option" in stderr:
        return "sandbox.old-pip"
    if "DO NOT MATCH THE HASHES" in stderr:
        return "sandbox.hash-mismatch"
    if any(sign in stderr for sign in UNREACHABLE):
        return "sandbox.unreachable"
    if (
        "ResolutionImpossible" in stderr
        or "No matching distribution" in stderr
        or "No solution found" in stderr
    ):
        return "sandbox.unresolved"
    return "sandbox.pip-failed"


def essence(stderr: str, lines: int = 12) -> str:
    """pip's words without its notices, and without any user name or password in an address."""
    noise: Sequence[str] = ("is ignored:", "[notice]", "Retrying (Retry")
    kept = [line for line in stderr.splitlines() if line.strip() and not any(word in line for word in noise)]
    return re.sub(r"(\w+://)[^/@\s]+@", r"\1****@", "\n".join(kept[-lines:]))
