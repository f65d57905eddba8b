"""Leases and hosts for the tests: everything that a test does not say is the same in all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from blazar.domain.lease.event import Event, EventType
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Registration, Usage
from blazar.domain.time import Interval

NOW = datetime(2030, 1, 1, 10, 0, 17, 123456, UTC)
START = datetime(2030, 1, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)


def minutes(n: float) -> timedelta:
    return timedelta(minutes=n)


def hours(n: float) -> timedelta:
    return timedelta(hours=n)


def new_id() -> str:
    return str(uuid4())


def host(id_: str = "1", **fields: Any) -> Registration:
    registration = Registration(
        id=id_,
        pool=Pool("host"),
        name=f"compute-{id_}",
        facts={"vcpus": 16, "hypervisor_type": "QEMU", "cpu_info": None, "ratio": 1.5, "smt": True},
        capabilities={"gpu": "A100"},
        traits=frozenset({"HW_CPU_X86_AVX2", "CUSTOM_GOLD"}),
        inventory={"VCPU": Inventory(16, 8), "MEMORY_MB": Inventory(65536, 65536)},
        generation=0,
    )
    return replace(registration, **fields)


def lease(
    *hosts: str,
    start: datetime = START,
    length: timedelta = HOUR,
    usage: Usage = WHOLE,
    slots: int = 1,
    **fields: Any,
) -> Lease:
    """A lease with one reservation on these hosts, and with all its events."""
    id_, reservation_id, interval = new_id(), new_id(), Interval(start, start + length)
    reservation = Reservation(
        id=reservation_id,
        lease_id=id_,
        resource_id=new_id(),
        resource_type="physical:host",
        parameters={"min": 1, "max": 3, "resource_properties": [">=", "$vcpus", "4"], "note": None},
        cloud_state={"aggregate": 7},
        allocations=allocations_on(hosts, id_, reservation_id, interval, usage, slots),
    )
    value = Lease(
        id=id_,
        name="lunch",
        user_id="user-1",
        project_id="project-1",
        interval=interval,
        reservations=(reservation,),
        events=(
            Event(new_id(), id_, EventType.START, interval.start),
            Event(new_id(), id_, EventType.END, interval.end),
            Event(new_id(), id_, EventType.BEFORE_END, interval.end - minutes(10)),
        ),
    )
    return replace(value, **fields)


def allocations_on(
    hosts: Iterable[str],
    lease_id: str,
    reservation_id: str,
    interval: Interval,
    usage: Usage = WHOLE,
    slots: int = 1,
) -> tuple[Allocation, ...]:
    return tuple(
        Allocation(new_id(), reservation_id, lease_id, resource_id, interval, usage, slots)
        for resource_id in hosts
    )


def with_reservation(value: Lease, **fields: Any) -> Lease:
    """The lease with other fields in its first reservation."""
    first, *others = value.reservations
    return replace(value, reservations=(replace(first, **fields), *others))


def with_event(value: Lease, event_type: EventType, **fields: Any) -> Lease:
    """The lease with other fields in the event of this type."""
    events = tuple(replace(e, **fields) if e.event_type is event_type else e for e in value.events)
    return replace(value, events=events)


def event_of(value: Lease, event_type: EventType) -> Event:
    event = value.event(event_type)
    assert event is not None
    return event


def plain(value: Lease) -> Lease:
    """The lease without what the database adds: the moments of creation and of change."""
    unstamped: Mapping[str, None] = {"created_at": None, "updated_at": None}
    reservations = tuple(
        replace(r, **unstamped, allocations=tuple(replace(a, created_at=None) for a in r.allocations))
        for r in value.reservations
    )
    events = tuple(replace(event, **unstamped) for event in value.events)
    return replace(value, **unstamped, reservations=reservations, events=events)
