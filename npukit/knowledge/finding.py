"""One thing found in a log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# In the order in which they are shown.
SEVERITIES = ("fatal", "phantom", "silent-wrong", "slow", "noise")
# A cause explains; a symptom says where it surfaced; a wrapper only passes an error on.
ROLES = ("cause", "symptom", "wrapper")
# confirmed: the remedy is a maintainer's, a merged change's or official documentation's; source: it was read
# in source code; likely: cause or remedy are partly inferred.
CONFIDENCES = ("confirmed", "source", "likely")


@dataclass(frozen=True)
class Finding:
    """A recognised failure: what it is, why, what to type, and where in the log it stands.

    ``severity`` is one of SEVERITIES ("phantom": something published guides name and that does not exist),
    ``role`` one of ROLES, ``confidence`` one of CONFIDENCES. ``line`` is 1-based and is the first of the
    ``count`` lines that say so. ``rank`` is 1 for the finding to read first.
    """

    id: str
    title: str
    severity: str
    role: str
    confidence: str
    cause: str
    remedy: str
    sources: tuple[str, ...]
    excerpt: str
    line: int
    count: int = 1
    rank: int = 0

    def to_json(self) -> dict[str, Any]:
        """The finding as a member of a JSON document's ``findings``."""
        return {**asdict(self), "sources": list(self.sources)}
