"""The offer: what is held for a lease that is yet to be created, until it is claimed or expires."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.lease import change
from blazar.domain.lease.change import NewId
from blazar.domain.lease.lease import Lease


@dataclass(frozen=True, slots=True)
class Offer:
    """A lease that may be had until ``expires_at``: its resources are held.

    ``lease`` is PENDING, and has neither a name nor events. The offer's id is the id of the lease that it
    becomes."""

    lease: Lease
    expires_at: datetime

    @property
    def id(self) -> str:
        return self.lease.id

    def is_over(self, now: datetime) -> bool:
        return self.expires_at <= now


def held(lease: Lease, now: datetime, hold: timedelta) -> Offer:
    """Return the offer of a planned lease. It is held for ``hold``, but not beyond the end of the lease."""
    return Offer(replace(lease, name="", events=()), min(now + hold, lease.interval.end))


def claimed(
    offer: Offer, before_end: datetime | None, notification: timedelta, claim_id: str, new_id: NewId
) -> Lease:
    """Return the lease that the offer becomes. It starts at once where its start has passed meanwhile.

    Its start has the id of the claim, by which a claim that is made twice, because its answer was lost, finds
    its own lease. Raises InvalidInput where the warning lies outside of the lease."""
    interval = offer.lease.interval
    warning = (
        change.default_before_end(interval, notification)
        if before_end is None
        else change.check_before_end(before_end, interval)
    )
    start, *others = change.new_events(offer.id, interval, warning, new_id)
    return replace(offer.lease, events=(replace(start, id=claim_id), *others))


def marked_by(unconfirmed: Lease, claim_id: str) -> Lease:
    """Return the lease that is not confirmed yet with a mark of its claim."""
    return replace(unconfirmed, events=tuple(replace(e, reason=claim_id) for e in unconfirmed.events))


def is_of_claim(lease: Lease, claim_id: str) -> bool:
    """Return whether this claim made the lease of an offer."""
    return any(claim_id in (event.id, event.reason) for event in lease.events)
