"""Do both databases keep how soon a lease has to be used, and when it is looked at?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from blazar.domain.lease.claim_by import ClaimBy
from blazar.domain.lease.event import UNCLAIMED, Event, EventStatus, EventType
from blazar.domain.lease.lease import LeaseStatus
from blazar.service.ports import Database, ListPage

from .builders import HOUR, NOW, START, hours, lease, minutes, new_id

EACH = pytest.mark.parametrize(
    "claim_by",
    [ClaimBy(HOUR), ClaimBy(minutes(5), START), ClaimBy(HOUR, START, START + hours(1))],
    ids=["asked", "late", "released"],
)


@EACH
def test_a_lease_is_read_as_it_was_written(database: Database, claim_by: ClaimBy) -> None:
    stored = database.transact(lambda u: u.leases.add(lease(claim_by=claim_by), NOW))
    with database.read() as u:
        assert u.leases.get(stored.id) == stored
        (listed,) = u.leases.page(ListPage(10))
    assert stored.claim_by == listed.claim_by == claim_by
    for other in (ClaimBy(minutes(7)), None):
        changed = replace(stored, claim_by=other)
        stored = database.transact(lambda u, c=changed, o=stored: u.leases.save(c, o, NOW))  # type: ignore[misc]
        with database.read() as u:
            found = u.leases.get(stored.id)
            assert found is not None
            assert found.claim_by == other


@pytest.mark.parametrize("event_type", sorted(UNCLAIMED))
def test_looks_are_due_at_their_time_and_brought_forward_by_nothing(
    database: Database, event_type: EventType
) -> None:
    value = lease(status=LeaseStatus.ACTIVE)
    event = Event(new_id(), value.id, event_type, START + hours(1))
    database.transact(lambda u: u.leases.add(replace(value, events=(event,)), NOW))
    moved = database.transact(lambda u: u.events.bring_forward(START, START + minutes(1), START + minutes(2)))
    assert moved == 0
    with database.read() as u:
        assert u.events.due(START + minutes(59), 10) == []
        (due,) = u.events.due(START + hours(1), 10)
    assert (due.event_type, due.time, due.status) == (event_type, event.time, EventStatus.UNDONE)
