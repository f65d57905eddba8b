"""What a share of a lease is: another project that may see it, or change it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MOST_SHARES = 100
"""The projects that a lease may be shared with."""


class ShareRight(StrEnum):
    """What the other project may do."""

    READ = "read"
    """See the lease."""
    CHANGE = "change"
    """See it, and change its name and dates."""


@dataclass(frozen=True, slots=True)
class LeaseShare:
    """A lease is shared with a project by a user of its own."""

    lease_id: str
    project_id: str
    right: ShareRight
    user_id: str
    created_at: datetime | None = None
    updated_at: datetime | None = None
