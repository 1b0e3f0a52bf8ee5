"""ModelScope, or the mirror that MODELSCOPE_ENDPOINT names, over its documented file endpoints.

``GET /api/v1/models/{id}/repo/files`` lists with every file's size and sha256, ``.../repo?FilePath=``
serves the bytes. No client is needed: the older ones know no MODELSCOPE_ENDPOINT, the newest bring their
own command line. Where modelscope-hub is installed, its saved login is used. ``master`` is a branch and
may move: the hashes tell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import quote_plus, urlsplit

import requests

from npukit.download.address import Address, cause_of
from npukit.errors import NpukitError
from npukit.sources import hub
from npukit.sources.base import Brought, Job, Listing, RemoteFile, Want, checked

LIST_SECONDS = (10.0, 30.0)
# The server cuts a listing here without a word (modelscope_hub.constants.REPO_FILES_TRUNCATION_LIMIT).
CUT_ROWS = 3000


class Source:
    name = "modelscope"

    def __init__(self) -> None:
        endpoint = os.environ.get("MODELSCOPE_ENDPOINT", "").strip() or "https://modelscope.cn"
        self.endpoint = (endpoint if "://" in endpoint else f"https://{endpoint}").rstrip("/")
        self.headers: dict[str, str] = {}

    def listing(self, want: Want) -> Listing:
        revision = want.revision or "master"
        self.headers = _login(want.token, urlsplit(self.endpoint).hostname or "")
        try:
            rows = list(self._rows(want.repo, revision, ""))
        except requests.HTTPError as error:
            status = error.response.status_code if error.response is not None else 0
            if status in (401, 403):
                raise NpukitError("fetch.denied", source=self.name, repo=want.repo, status=status) from error
            if status == 404:
                raise NpukitError(
                    "fetch.not-found", source=self.name, repo=want.repo, revision=revision
                ) from error
            raise self._unreachable(f"HTTP {status}") from error
        except requests.RequestException as error:
            raise self._unreachable(cause_of(error)) from error
        except (KeyError, TypeError, ValueError) as error:
            raise self._unreachable("what it answered is not a listing") from error
        return checked(self.name, want, revision, tuple(rows))

    def _rows(self, repo: str, revision: str, root: str, recursive: bool = True) -> Iterator[RemoteFile]:
        answer = requests.get(
            f"{self.endpoint}/api/v1/models/{repo}/repo/files",
            params={"Revision": revision, "Recursive": str(recursive), **({"Root": root} if root else {})},
            headers=self.headers,
            timeout=LIST_SECONDS,
        )
        answer.raise_for_status()
        rows = answer.json()["Data"]["Files"]
        if recursive and len(rows) >= CUT_ROWS:  # one folder at a time instead
            yield from self._rows(repo, revision, root, recursive=False)
            return
        for row in rows:
            if row["Type"] != "tree":
                yield RemoteFile(row["Path"], row["Size"], row.get("Sha256") or "")
            elif not recursive:
                yield from self._rows(repo, revision, row["Path"])

    def _unreachable(self, reason: str) -> NpukitError:
        return NpukitError("fetch.unreachable", source=self.name, endpoint=self.endpoint, reason=reason)

    def address(self, listing: Listing, path: str) -> Address:
        query = f"Revision={quote_plus(listing.revision)}&FilePath={quote_plus(path)}"
        url = f"{self.endpoint}/api/v1/models/{listing.repo}/repo?{query}"
        return Address(url, self.headers)

    def bring(self, listing: Listing, job: Job) -> Brought:
        return hub.bring(listing, job, self.address)


def _login(token: str, host: str) -> dict[str, str]:
    """A header for a token, for the environment's, or for the login that modelscope-hub has saved.

    A header and no cookie jar: requests takes it away when a redirect leads to another host.
    """
    token = token or os.environ.get("MODELSCOPE_API_TOKEN", "")
    if token:
        return {"Cookie": f"m_session_id={token}"}
    try:
        from modelscope_hub import HubConfig
    except ImportError:
        return {}
    saved = [c for c in HubConfig().load_cookies() or () if host.endswith(c.domain.lstrip("."))]
    return {"Cookie": "; ".join(f"{c.name}={c.value}" for c in saved)} if saved else {}
