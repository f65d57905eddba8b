"""The values that a repository returns after a write, as they are stored, without reading them again.

The repositories of SQL and of memory share these rules, and the contract suite compares their result with
what is read afterwards. Moments are set here: ``created_at`` of what is new, ``updated_at`` of what was
changed. What is the very object that was read is as it is stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from blazar.domain.lease.event import Event
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.resource import Allocation, Registration, database_order
from blazar.service.ports import LONGEST_TEXT


def added_lease(lease: Lease, now: datetime) -> Lease:
    """Return the lease as it is stored by ``add``."""
    nothing = replace(lease, reservations=(), events=())
    return replace(_merged(lease, nothing, now), created_at=now, updated_at=None)


def saved_lease(new: Lease, current: Lease, now: datetime) -> Lease:
    """Return the lease as it is stored by ``save`` where ``current`` was stored before."""
    merged = replace(
        _merged(new, current, now),
        revision=current.revision,
        created_at=current.created_at,
        updated_at=current.updated_at,
    )
    updated_at = current.updated_at if merged == current else now
    return replace(merged, revision=current.revision + 1, updated_at=updated_at)


def claimed_lease(new: Lease, offered: Lease, now: datetime) -> Lease:
    """Return the lease as it is stored where an offer becomes one."""
    stored = saved_lease(new, offered, now)
    return replace(stored, created_at=now, updated_at=None)


def added_registration(registration: Registration, now: datetime) -> Registration:
    """Return the registration as it is stored by ``add``."""
    return replace(_plain(registration), created_at=now, updated_at=None)


def saved_registration(registration: Registration, now: datetime) -> Registration:
    """Return the registration as it is stored by ``save``."""
    return replace(_plain(registration), generation=registration.generation + 1, updated_at=now)


def fitting(text: str | None) -> str | None:
    """Return the text as every database takes it: cut to LONGEST_TEXT characters, with an ellipsis at the
    end, and without what UTF-8 or PostgreSQL cannot hold.

    Without the cut, an explanation by another service may be too long for a column of MariaDB (64 kB), and
    the event that carries it would fail to be settled for ever."""
    if text is None:
        return None
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def allocation_key(allocation: Allocation) -> tuple[tuple[bool, int, str], datetime, str]:
    """Return the key that sorts allocations by resource, start and id."""
    return database_order(allocation.resource_id), allocation.interval.start, allocation.id


def through_json(value: Any) -> Any:
    """Return the value as it comes back from a database; also a copy that the caller cannot change any
    more."""
    return json.loads(json.dumps(value))


def _merged(new: Lease, current: Lease, now: datetime) -> Lease:
    """Return ``new`` with the moments of what is new and of what differs from ``current``."""
    reservations = {each.id: each for each in (*current.reservations, *current.leaving)}
    allocations = {a.id: a for r in reservations.values() for a in (*r.allocations, *r.surplus)}
    events = {event.id: event for event in current.events}
    return replace(
        new,
        status_reason=fitting(new.status_reason),
        reservations=tuple(
            _reservation(reservation, reservations.get(reservation.id), allocations, now)
            for reservation in new.reservations
        ),
        leaving=tuple(
            _reservation(each, reservations.get(each.id), allocations, now) for each in new.leaving
        ),
        events=tuple(_event(event, events.get(event.id), now) for event in new.events),
    )


def _reservation(
    new: Reservation, current: Reservation | None, allocations: Mapping[str, Allocation], now: datetime
) -> Reservation:
    if new is current:
        return new

    def stored(those: Iterable[Allocation]) -> tuple[Allocation, ...]:
        found = (_allocation(each, allocations.get(each.id), now) for each in those)
        return tuple(sorted(found, key=allocation_key))

    new = replace(
        new,
        status_reason=fitting(new.status_reason),
        parameters=through_json(dict(new.parameters)),
        cloud_state=through_json(dict(new.cloud_state)),
        allocations=stored(new.allocations),
        surplus=stored(new.surplus),
    )
    if current is None:
        return replace(new, created_at=now, updated_at=None)
    new = replace(new, created_at=current.created_at, updated_at=current.updated_at)
    # Allocations are rows of their own.
    is_same = replace(new, allocations=(), surplus=()) == replace(current, allocations=(), surplus=())
    return new if is_same else replace(new, updated_at=now)


def _allocation(new: Allocation, current: Allocation | None, now: datetime) -> Allocation:
    return new if new is current else replace(new, created_at=now if current is None else current.created_at)


def _event(new: Event, current: Event | None, now: datetime) -> Event:
    if new is current:
        return new
    new = replace(new, due=None if new.due == new.time else new.due, reason=fitting(new.reason))
    if current is None:
        return replace(new, created_at=now, updated_at=None)
    new = replace(new, created_at=current.created_at, updated_at=current.updated_at)
    return new if new == current else replace(new, updated_at=now)


def _plain(registration: Registration) -> Registration:
    return replace(
        registration,
        facts=through_json(dict(registration.facts)),
        capabilities=through_json(dict(registration.capabilities)),
        inventory=dict(registration.inventory),
    )
