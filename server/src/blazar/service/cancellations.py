"""What is kept of a lease that is deleted before its end, so that calendars can tell it."""

from __future__ import annotations

from datetime import datetime

from blazar.domain.feed import CancelledLease
from blazar.domain.lease.lease import Lease
from blazar.service.ports import UnitOfWork


def keep_cancelled(uow: UnitOfWork, lease: Lease, now: datetime) -> None:
    """Keep what calendars have to be told of a lease that is removed ``now``: nothing where it is over."""
    if lease.interval.end > now:
        uow.feeds.keep_cancelled(
            CancelledLease(
                lease.id,
                lease.name,
                lease.project_id,
                lease.user_id,
                lease.interval,
                lease.revision + 1,
                now,
            )
        )
