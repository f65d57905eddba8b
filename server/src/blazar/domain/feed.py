"""What a calendar feed is: which leases it shows, and for whom it was made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from blazar.domain.time import Interval


class FeedScope(StrEnum):
    """Which leases a feed shows."""

    PROJECT = "project"
    USER = "user"
    """Those of one user in the project."""
    LEASE = "lease"


@dataclass(frozen=True, slots=True)
class Feed:
    """A calendar of leases, read at an address with a secret in it, of which only a hash is kept."""

    id: str
    name: str
    project_id: str
    """The project with which its user has made it."""
    user_id: str
    watched_project: str
    """The project whose leases it shows."""
    watched_user: str | None = None
    """Only this user's leases; None for those of all."""
    lease_id: str | None = None
    """Only this lease."""
    created_at: datetime | None = None

    @property
    def scope(self) -> FeedScope:
        if self.lease_id is not None:
            return FeedScope.LEASE
        return FeedScope.PROJECT if self.watched_user is None else FeedScope.USER

    @property
    def shows_shared(self) -> bool:
        """Return whether it also shows leases of other projects that are shared with the watched one. They
        are of no user of that one."""
        return self.watched_user is None

    def shows(self, lease_id: str, project_id: str, user_id: str) -> bool:
        """Return whether it shows such a lease of the watched project."""
        return (
            self.watched_project == project_id
            and self.watched_user in (None, user_id)
            and self.lease_id in (None, lease_id)
        )


@dataclass(frozen=True, slots=True)
class CancelledLease:
    """A lease that was deleted before its end, and that calendars still have to be told of."""

    lease_id: str
    name: str
    project_id: str
    user_id: str
    interval: Interval
    revision: int
    """A higher one than the lease had."""
    cancelled_at: datetime
