"""The machine as probes see it. All that a probe touches goes through here, so a test can hand it another."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from npukit.host.packages import distributions

GRACE_S = 1.0


@dataclass(frozen=True)
class Entry:
    """A path as this process may use it. ``kind`` is file, dir, device or other; links are followed."""

    kind: str
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    readable: bool = True
    writable: bool = True


@dataclass(frozen=True)
class Ran:
    """How a child ended. ``status`` is None when it could not be started or did not end in time."""

    status: int | None
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    seconds: float = 0.0

    @property
    def missing(self) -> bool:
        return self.status is None and not self.timed_out

    @property
    def text(self) -> str:
        return f"{self.stdout}\n{self.stderr}".strip()


@dataclass(frozen=True)
class Package:
    """An installed distribution, from its metadata."""

    version: str
    requires: tuple[str, ...] = ()


class Host(Protocol):
    """One machine, seen from one process."""

    @property
    def environ(self) -> Mapping[str, str]: ...

    @property
    def python(self) -> str: ...

    @property
    def python_version(self) -> str: ...

    @property
    def uid(self) -> int: ...

    @property
    def groups(self) -> frozenset[int]: ...

    def read(self, path: str) -> str | None:
        """The text of a file, or None when it is absent or may not be read."""

    def entries(self, path: str) -> tuple[str, ...]:
        """The sorted names in a directory; none when it is absent or may not be read."""

    def entry(self, path: str) -> Entry | None: ...

    def real(self, path: str) -> str:
        """The path with its links followed."""

    def run(self, argv: Sequence[str], limit_s: float, environ: Mapping[str, str] | None = None) -> Ran:
        """Run a program to its end or to the limit. ``environ`` adds to the host's own; "" removes a name."""

    def packages(self) -> dict[str, Package]:
        """What is installed for ``python``, by canonical name."""

    def usable_cores(self) -> int: ...

    def free_bytes(self, path: str) -> int | None:
        """Free space of the file system that holds path or its nearest existing parent."""


@dataclass(frozen=True)
class LocalHost:
    """This machine."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    python: str = sys.executable
    python_version: str = field(default_factory=platform.python_version)
    uid: int = field(default_factory=os.geteuid)
    groups: frozenset[int] = field(default_factory=lambda: frozenset({os.getegid(), *os.getgroups()}))

    def read(self, path: str) -> str | None:
        try:
            return Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def entries(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(os.listdir(path)))  # noqa: PTH208 (names are wanted, not paths)
        except OSError:
            return ()

    def entry(self, path: str) -> Entry | None:
        try:
            found = Path(path).stat()
        except OSError:
            return None
        kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "dir"), (stat.S_ISCHR, "device"))
        kind = next((name for test, name in kinds if test(found.st_mode)), "other")
        mode = stat.S_IMODE(found.st_mode)
        may = [os.access(path, right) for right in (os.R_OK, os.W_OK)]
        return Entry(kind, mode, found.st_uid, found.st_gid, *may)

    def real(self, path: str) -> str:
        return os.path.realpath(path)

    def run(self, argv: Sequence[str], limit_s: float, environ: Mapping[str, str] | None = None) -> Ran:
        changed = {**self.environ, **(environ or {})}
        started = time.monotonic()
        try:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={name: value for name, value in changed.items() if value != ""},
                start_new_session=True,
                text=True,
                errors="replace",
            )
        except OSError as error:
            return Ran(None, stderr=str(error))
        try:
            out, err = child.communicate(timeout=limit_s)
            return Ran(child.returncode, out, err, seconds=time.monotonic() - started)
        except subprocess.TimeoutExpired:
            out, err = _kill(child)
            return Ran(None, out, err, timed_out=True, seconds=time.monotonic() - started)

    def packages(self) -> dict[str, Package]:
        return {
            name: Package(found.version or "", tuple(found.requires or ()))
            for name, found in distributions().items()
        }

    def usable_cores(self) -> int:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1

    def free_bytes(self, path: str) -> int | None:
        for place in (Path(path), *Path(path).parents):
            try:
                return shutil.disk_usage(place).free
            except OSError:
                continue
        return None


def _kill(child: subprocess.Popen[str]) -> tuple[str, str]:
    """End the child's whole group. One stuck in the kernel driver cannot be ended: it is left behind."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
        return child.communicate(timeout=GRACE_S)
    except (OSError, subprocess.TimeoutExpired):
        return "", ""
