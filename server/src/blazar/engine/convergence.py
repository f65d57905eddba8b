"""The repair of one active lease at once, under a claim as at any other comparison with the cloud."""

from __future__ import annotations

from uuid import uuid4

from blazar.domain.errors import ClaimLost, LeaseLocked
from blazar.domain.lease.event import UNSETTLING, Event, EventType
from blazar.engine.claims import Claims
from blazar.service.events import Events
from blazar.service.ports import Clock, Database

BUSY = "a manager works on the lease"
UNREACHED = "the cloud did not answer"
GOES_ON = "the managers go on with it"


def converge_now(
    lease_id: str, claims: Claims, events: Events, database: Database, clock: Clock
) -> str | None:
    """Bring the cloud to what an active lease says. Return why it is not there yet; None where it is."""
    now = clock.now()
    event = Event(lease_id, lease_id, EventType.CONVERGE, now)
    try:
        held_claim = claims.take_lease(event, str(uuid4()), now)
    except LeaseLocked:
        return BUSY
    if held_claim is None:
        return BUSY
    try:
        if not events.reconcile(held_claim):
            return UNREACHED
    except ClaimLost:
        return BUSY
    finally:
        claims.drop(held_claim)
    with database.read() as uow:
        lease = uow.leases.get(lease_id)
    work = lease and next((e for e in lease.events if e.is_open and e.event_type in UNSETTLING), None)
    return f"{GOES_ON}: {lease.status_reason}" if lease and work else None
