"""What a share of a lease is: another project that may see it, use it or change it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MOST_SHARES = 100
"""The projects that a lease may be shared with."""
USER_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
"""The ids of projects that may use a lease. They become keys of metadata in the cloud, where others have a
meaning."""


class ShareRight(StrEnum):
    """What the other project may do."""

    READ = "read"
    """See the lease."""
    USE = "use"
    """See it, and put servers onto what it reserves."""
    CHANGE = "change"
    """See it, and change its name and dates."""
    USE_AND_CHANGE = "use_and_change"
    TAKE_OVER = "take_over"
    """See it, and make it one's own before it starts."""

    @property
    def may_use(self) -> bool:
        return self in (ShareRight.USE, ShareRight.USE_AND_CHANGE)

    @property
    def may_change(self) -> bool:
        return self in (ShareRight.CHANGE, ShareRight.USE_AND_CHANGE)

    @property
    def without_take_over(self) -> ShareRight:
        """Return what of it is known to those who know of no taking over."""
        return ShareRight.READ if self is ShareRight.TAKE_OVER else self

    @property
    def without_use(self) -> ShareRight:
        """Return what of it is known to those who know of no use."""
        return ShareRight.CHANGE if self.may_change else ShareRight.READ


@dataclass(frozen=True, slots=True)
class LeaseShare:
    """A lease is shared with a project by a user of its own."""

    lease_id: str
    project_id: str
    right: ShareRight
    user_id: str
    created_at: datetime | None = None
    updated_at: datetime | None = None
