"""The priority of a lease: by its user's wish, as far as policy lets."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from blazar.domain.errors import InvalidInput
from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.commands import PriorityWish


def prioritized(lease: Lease, wish: PriorityWish | None) -> Lease:
    """Return the new lease with the class that was asked for."""
    return lease if wish is None or wish.priority is None else replace(lease, priority=wish.priority)


def changed_priority(lease: Lease, wish: PriorityWish | None, now: datetime) -> Lease:
    """Return the lease in another class. Raises InvalidStatus for a lease in transition, InvalidInput for one
    that is over."""
    changed = prioritized(lease, wish)
    if changed == lease:
        return lease
    change.require_stable(lease)
    if lease.status is LeaseStatus.TERMINATED or change.has_ended(lease, now):
        raise InvalidInput("Terminated leases can only be renamed")
    return changed
