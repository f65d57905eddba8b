"""Are events that only a newer version knows left alone, by the engine and by everybody who reads their
lease?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select, update

from blazar.adapters.db import SqlDatabase, tables
from blazar.domain.lease.event import EventType

from .builders import NOW, START, hours, lease, minutes


@pytest.mark.parametrize("column", ["event_type", "status"])
def test_what_a_newer_version_wrote_stays_as_it_is(sql: SqlDatabase, column: str) -> None:
    value = lease("1")
    unknown, *others = value.events
    sql.transact(lambda u: u.leases.add(value, NOW))
    e = tables.events
    with sql.engine.begin() as connection:
        connection.execute(update(e).where(e.c.id == unknown.id).values({column: "unheard_of"}))
        before = connection.execute(select(e).where(e.c.id == unknown.id)).one()
    now = START + hours(9)
    with sql.read() as u:
        stored = u.leases.get(value.id)
        assert stored is not None
        assert {event.id for event in stored.events} == {event.id for event in others}
        assert {event.id for event in u.leases.list()[0].events} == {event.id for event in others}
        assert {event.id for event in u.events.due(now, 10)} == {event.id for event in others}
        assert u.events.next_due(NOW) == min(event.time for event in others)
        assert u.events.lag(now) == (now - min(event.time for event in others)).total_seconds()
    assert not sql.transact(lambda u: u.events.claim(unknown.id, "me", now, now + minutes(1)))
    sql.transact(lambda u: u.events.bring_forward(NOW - hours(9), NOW - hours(8), NOW - hours(8)))
    assert sql.transact(lambda u: u.events.claim(others[0].id, "me", now, now + minutes(1)))
    with sql.read() as u:
        assert u.events.next_due(now) == now + minutes(1)
    changed = replace(stored, name="new", events=(replace(stored.events[0], time=START + hours(5)),))
    sql.transact(lambda u: u.leases.save(changed, stored, NOW))
    with sql.engine.begin() as connection:
        assert connection.execute(select(e).where(e.c.id == unknown.id)).one() == before
    assert EventType.START in {event.event_type for event in value.events}
