"""The Hugging Face hub, or the mirror that HF_ENDPOINT names, listed through huggingface_hub.

Its client gives the listing, the addresses and the login; the bytes come by plain HTTP, which every
mirror and the hub itself serve whether or not they know Xet.
"""

from __future__ import annotations

import os
from typing import Any

from npukit.download.address import Address, cause_of
from npukit.errors import NpukitError
from npukit.sources import hub
from npukit.sources.base import Brought, Job, Listing, RemoteFile, Want, checked

LIST_SECONDS = 20.0


class Source:
    name = "huggingface"

    def __init__(self) -> None:
        try:
            import huggingface_hub
        except ImportError as error:
            raise NpukitError("fetch.no-client", source=self.name, package="huggingface_hub") from error
        self.client: Any = huggingface_hub
        # The client reads HF_ENDPOINT once, when it is first imported by whomever.
        self.endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or huggingface_hub.constants.ENDPOINT
        self.headers: dict[str, str] = {}

    def listing(self, want: Want) -> Listing:
        from huggingface_hub.errors import (
            GatedRepoError,
            HfHubHTTPError,
            HFValidationError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )

        token: str | None = want.token or None
        api = self.client.HfApi(endpoint=self.endpoint, token=token)
        revision = want.revision or "main"
        try:
            commit = api.model_info(want.repo, revision=revision, timeout=LIST_SECONDS).sha
            tree = list(api.list_repo_tree(want.repo, revision=commit, recursive=True))
        except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
            if isinstance(error, GatedRepoError):  # the client counts it among the repositories not found
                raise self._denied(want, 403) from error
            raise NpukitError(
                "fetch.not-found", source=self.name, repo=want.repo, revision=revision
            ) from error
        except _transport(HfHubHTTPError) as error:
            status = getattr(getattr(error, "response", None), "status_code", 0)
            if status in (401, 403):
                raise self._denied(want, status) from error
            raise NpukitError(
                "fetch.unreachable", source=self.name, endpoint=self.endpoint, reason=cause_of(error)
            ) from error
        self.headers = self.client.utils.build_hf_headers(token=token, library_name="npukit")
        files = tuple(_file(entry) for entry in tree if isinstance(entry, self.client.hf_api.RepoFile))
        return checked(self.name, want, commit, files)

    def _denied(self, want: Want, status: int) -> NpukitError:
        return NpukitError("fetch.denied", source=self.name, repo=want.repo, status=status)

    def address(self, listing: Listing, path: str) -> Address:
        url = self.client.hf_hub_url(listing.repo, path, revision=listing.revision, endpoint=self.endpoint)
        return Address(url, self.headers)

    def bring(self, listing: Listing, job: Job) -> Brought:
        return hub.bring(listing, job, self.address)


def _file(entry: Any) -> RemoteFile:
    """LFS files state their sha256, the others git's hash of a blob."""
    if entry.lfs is not None:
        return RemoteFile(entry.path, entry.size, sha256=entry.lfs.sha256)
    return RemoteFile(entry.path, entry.size, git_sha1=entry.blob_id)


def _transport(error: type[Exception]) -> tuple[type[Exception], ...]:
    """What the client's HTTP library raises (requests, httpx or httpx2, by version): its error's bases."""
    own = [c for c in error.__mro__ if issubclass(c, Exception) and c is not Exception]
    return (*own, OSError, ValueError)
