"""GitCode (``hf_mirrors/owner/name``), over git and git-lfs's batch protocol.

Its own client rewrites HF_HOME when imported and refuses mirrors, so it is not used. ``git clone --depth
1`` brings the small files, which git proves by their hashes, and the pointers, which state size and
sha256 of the large ones; ``POST <repository>.git/info/lfs/objects/batch`` then gives the addresses
(https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md). git-lfs itself is not needed.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import requests

from npukit.download.address import Address, cause_of, hash_as
from npukit.errors import NpukitError
from npukit.sources import hub
from npukit.sources.base import Brought, Job, Listing, RemoteFile, Want, checked
from npukit.workspace import write_atomic

POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d+)\n"
)
POINTER_BYTES = 1024
BATCH_SECONDS = (10.0, 30.0)
CLONE_SECONDS = 600
ADDRESS_SECONDS = 60.0


class Source:
    name = "gitcode"

    def __init__(self) -> None:
        self.endpoint = os.environ.get("GITCODE_ENDPOINT", "https://gitcode.com").rstrip("/")
        self.headers: dict[str, str] = {}
        self.clone = Path()
        self.addresses: dict[str, tuple[float, Address]] = {}

    def listing(self, want: Want) -> Listing:
        self.clone = want.scratch / "clone"
        token = want.token or os.environ.get("GITCODE_TOKEN", "")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        branch = ["--branch", want.revision] if want.revision else []
        url = f"{self.endpoint}/{want.repo}.git"
        self._git("clone", "--quiet", "--bare", "--depth", "1", *branch, url, str(self.clone), want=want)
        commit = self._git("rev-parse", "HEAD").decode().strip()
        rows = self._git("ls-tree", "-r", "-l", "-z", "HEAD").decode("utf-8", "surrogateescape")
        listed = (row.split("\t", 1) for row in rows.split("\0") if row)
        files = tuple(self._file(facts, path) for facts, path in listed if " blob " in facts)
        return checked(self.name, want, commit, files)

    def _file(self, facts: str, path: str) -> RemoteFile:
        _, _, blob, size = facts.split()
        if int(size) < POINTER_BYTES:
            pointer = POINTER.fullmatch(self._git("cat-file", "blob", blob))
            if pointer:
                return RemoteFile(path, int(pointer[2]), sha256=pointer[1].decode())
        return RemoteFile(path, int(size), git_sha1=blob)

    def bring(self, listing: Listing, job: Job) -> Brought:
        """The small files come out of the clone; the large ones are downloaded."""
        for file in listing.files:
            target = job.directory / file.path
            if file.git_sha1 and not hash_as(target, file.expected):
                write_atomic(target, self._git("cat-file", "blob", file.git_sha1))
        by_path = {file.path: file for file in listing.files}
        return hub.bring(listing, job, lambda listing, path: self._leased(listing, by_path[path]))

    def address(self, listing: Listing, path: str) -> Address | None:
        file = next(file for file in listing.files if file.path == path)
        return self._leased(listing, file) if file.sha256 else None

    def _leased(self, listing: Listing, file: RemoteFile) -> Address:
        """An address is signed for a while: the same one serves the ranges of a minute."""
        asked, address = self.addresses.get(file.path, (0.0, Address("")))
        if time.monotonic() - asked > ADDRESS_SECONDS or not address.url:
            address = self._signed(listing, file)
            self.addresses[file.path] = (time.monotonic(), address)
        return address

    def _signed(self, listing: Listing, file: RemoteFile) -> Address:
        kind = "application/vnd.git-lfs+json"
        try:
            answer = requests.post(
                f"{self.endpoint}/{listing.repo}.git/info/lfs/objects/batch",
                json={
                    "operation": "download",
                    "transfers": ["basic"],
                    "objects": [{"oid": file.sha256, "size": file.size}],
                },
                headers={**self.headers, "Accept": kind, "Content-Type": kind},
                timeout=BATCH_SECONDS,
            )
            answer.raise_for_status()
            action = answer.json()["objects"][0]["actions"]["download"]
            return Address(action["href"], dict(action.get("header") or {}))
        except requests.RequestException as error:
            raise self._unreachable(cause_of(error)) from error
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._unreachable(f"its LFS server has no address for {file.path}") from error

    def _git(self, *arguments: str, want: Want | None = None) -> bytes:
        """One git command. A token goes by the environment, so that no list of processes shows it."""
        environment = {
            **os.environ,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "LC_ALL": "C",
        }
        if self.headers:
            header = f"Authorization: {self.headers['Authorization']}"
            environment.update(
                GIT_CONFIG_COUNT="1",
                GIT_CONFIG_KEY_0=f"http.{self.endpoint}/.extraHeader",
                GIT_CONFIG_VALUE_0=header,
            )
        where = [] if want else ["--git-dir", str(self.clone)]
        try:
            run = subprocess.run(
                ["git", *where, *arguments], capture_output=True, env=environment, timeout=CLONE_SECONDS
            )
        except FileNotFoundError as error:
            raise NpukitError("fetch.no-client", source=self.name, package="git") from error
        except subprocess.TimeoutExpired as error:
            raise self._unreachable(f"git took more than {CLONE_SECONDS} s") from error
        if run.returncode == 0:
            return run.stdout
        lines = run.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"git ended with status {run.returncode}"
        if want and re.search("not found|does not exist|could not read Username", reason):
            revision = want.revision or "the default branch"
            raise NpukitError("fetch.not-found", source=self.name, repo=want.repo, revision=revision)
        raise self._unreachable(reason)

    def _unreachable(self, reason: str) -> NpukitError:
        return NpukitError("fetch.unreachable", source=self.name, endpoint=self.endpoint, reason=reason)
