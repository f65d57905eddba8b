"""The port of calendar feeds: where they are kept, and what they have to tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from blazar.domain.feed import CancelledLease, Feed
from blazar.domain.lease.share import ShareRight


@dataclass(frozen=True, slots=True)
class LeaseRevision:
    """The state of a lease in few words: each commit that changes the lease raises its revision."""

    lease_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class SharedRevision(LeaseRevision):
    """That of a lease of another project, and what the one that it is shared with may do."""

    right: ShareRight


class FeedRepository(Protocol):
    """Feeds, and the leases that were deleted and are still to be told as cancelled."""

    def queue_up(self, project_id: str) -> None:
        """Wait for the other transactions that make feeds with the project, up to the end of this one."""
        ...

    def count(self, project_id: str, user_id: str) -> int:
        """Return how many feeds the user has made with the project."""
        ...

    def add(self, feed: Feed, secret_hash: str, now: datetime) -> Feed:
        """Return the feed as stored: created_at is ``now``."""
        ...

    def get(self, feed_id: str) -> Feed | None: ...

    def find(self, secret_hash: str) -> Feed | None:
        """Return the feed whose secret has this hash."""
        ...

    def page(
        self, project_id: str | None, user_id: str | None, limit: int, after: str | None
    ) -> Sequence[Feed]:
        """Return at most ``limit`` feeds that were made with a project and by a user, or by all where that is
        None, in the order of their ids: those that follow ``after``, which need not be there; the first ones
        where it is None."""
        ...

    def remove(self, feed_id: str) -> None:
        """Raises Stale where it is gone."""
        ...

    def revisions(self, feed: Feed, since: datetime, now: datetime, limit: int) -> Sequence[LeaseRevision]:
        """Return at most ``limit`` leases that the feed shows: first those that end after ``now``, the next
        one to end first, then those that have ended after ``since``, the last one first."""
        ...

    def shared(self, feed: Feed, since: datetime, limit: int) -> Sequence[SharedRevision]:
        """Return the leases that are shared with the project of the feed, or the one that it is of, and that
        end after ``since``: of those that were made last, of which ``limit`` are looked at, the last one
        first."""
        ...

    def keep_cancelled(self, lease: CancelledLease) -> None:
        """Keep what is to be told of a deleted lease, where any feed shows it. What is kept of a lease with
        the same id is replaced."""
        ...

    def cancelled(self, feed: Feed, since: datetime, limit: int) -> Sequence[CancelledLease]:
        """Return at most ``limit`` leases that the feed shows and that were deleted after ``since``, the last
        one first."""
        ...

    def forget_cancelled(self, before: datetime) -> None:
        """Remove what is kept of leases that were deleted at ``before`` or earlier."""
        ...
