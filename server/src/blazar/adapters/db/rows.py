"""Conversion of domain values to rows and back.

Readers are tolerant of what a newer version has written, for the versions run side by side during an upgrade.
A status that they do not know is read as UNKNOWN, and such a lease is shown and left alone; an event that
they do not know is left out of its lease, so that no ``save`` touches it.

Rows to be written are dictionaries by column, without created_at and updated_at: the repositories set those.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import Any

from sqlalchemy import Row

from blazar.domain.failure import Failure, FailureReason
from blazar.domain.lease.claim_by import ClaimBy
from blazar.domain.lease.event import Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.lease.waiting import Waiting
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Registration, Usage
from blazar.domain.time import Interval

Columns = dict[str, Any]


# ---------------------------------------------------------------------------- values to rows


def of_lease(lease: Lease) -> Columns:
    return {
        "name": lease.name,
        "user_id": lease.user_id,
        "project_id": lease.project_id,
        "start_date": lease.interval.start,
        "end_date": lease.interval.end,
        "status": lease.status.value,
        "status_reason": lease.status_reason,
        "degraded": lease.degraded,
        "trust_id": lease.trust_id,
        "quantities": None if lease.quantities is None else dict(lease.quantities),
        "waiting": None if lease.waiting is None else _of_waiting(lease.waiting),
        "claim_by": None if lease.claim_by is None else _of_claim_by(lease.claim_by),
        "priority": None if lease.priority is Priority.NORMAL else lease.priority.value,
        "series_id": lease.series_id,
        "access_revision": lease.access_revision or None,
        "start_task": lease.start_task,
    }


MOMENTS = ("since", "until", "turn", "latest_end", "before_end", "expected")
FLAGS = ("starts_now", "is_flexible")


def _of_waiting(waiting: Waiting) -> Columns:
    """Return JSON values, without those that say nothing."""
    moments = {name: getattr(waiting, name) for name in MOMENTS}
    found: Columns = {name: each.isoformat() for name, each in moments.items() if each is not None}
    found |= {name: True for name in FLAGS if getattr(waiting, name)}
    if waiting.duration is not None:
        found["seconds"] = int(waiting.duration.total_seconds())
    return found


def _of_claim_by(claim_by: ClaimBy) -> Columns:
    """Return JSON values, without those that say nothing."""
    moments = {"since": claim_by.since, "released_at": claim_by.released_at}
    found: Columns = {name: each.isoformat() for name, each in moments.items() if each is not None}
    return {"seconds": int(claim_by.after.total_seconds()), **found}


def of_reservations(lease: Lease) -> dict[str, Columns]:
    stored = (*lease.reservations, *lease.leaving)
    return {r.id: _of_reservation(r, position) for position, r in enumerate(stored)}


def _of_reservation(reservation: Reservation, position: int) -> Columns:
    return {
        "lease_id": reservation.lease_id,
        "position": position,
        "resource_id": reservation.resource_id,
        "resource_type": reservation.resource_type,
        "parameters": dict(reservation.parameters),
        "status": reservation.status.value,
        "status_reason": reservation.status_reason,
        "missing_resources": reservation.missing_resources,
        "resources_changed": reservation.resources_changed,
        "cloud": dict(reservation.cloud_state),
        "region": reservation.region,
    }


def of_allocations(lease: Lease) -> dict[str, Columns]:
    return {each.id: {**_of_allocation(each), "bound": each.bound} for each in lease.allocations}


def of_surplus(lease: Lease) -> dict[str, Columns]:
    return {
        each.id: _of_allocation(each) for r in (*lease.reservations, *lease.leaving) for each in r.surplus
    }


def _of_allocation(allocation: Allocation) -> Columns:
    amounts = allocation.usage.amounts
    return {
        "lease_id": allocation.lease_id,
        "reservation_id": allocation.reservation_id,
        "resource_id": allocation.resource_id,
        "start_date": allocation.interval.start,
        "end_date": allocation.interval.end,
        "claim": None if amounts is None else dict(amounts),
        "slots": allocation.slots,
    }


def of_events(lease: Lease) -> dict[str, Columns]:
    return {event.id: _of_event(event, position) for position, event in enumerate(lease.events)}


def _of_event(event: Event, position: int) -> Columns:
    return {
        "lease_id": event.lease_id,
        "position": position,
        "event_type": event.event_type.value,
        "time": event.time,
        "due": event.next_try,
        "status": event.status.value,
        "attempts": event.attempts,
        "reason": event.reason,
    }


def of_registration(registration: Registration) -> Columns:
    """Return the columns of a resource that the operator and the cloud may change."""
    failure = registration.failure
    return {
        "cloud_id": registration.cloud_id,
        "facts": dict(registration.facts),
        "capabilities": dict(registration.capabilities),
        "traits": sorted(registration.traits),
        "inventory": {name: [i.capacity, i.max_unit] for name, i in registration.inventory.items()},
        "reservable": registration.reservable,
        "failure_reason": failure.reason.value if failure else None,
        "failed_at": failure.since if failure else None,
        "back_at": failure.back_since if failure else None,
    }


# ---------------------------------------------------------------------------- rows to values


def to_waiting(found: Mapping[str, Any]) -> Waiting:
    moments = {name: datetime.fromisoformat(found[name]) for name in MOMENTS if name in found}
    flags = {name: True for name in FLAGS if found.get(name)}
    duration = timedelta(seconds=found["seconds"]) if "seconds" in found else None
    return Waiting(**moments, **flags, duration=duration)  # type: ignore[arg-type]  # by name


def to_claim_by(found: Mapping[str, Any]) -> ClaimBy:
    moments = {
        name: datetime.fromisoformat(found[name]) for name in ("since", "released_at") if name in found
    }
    return ClaimBy(timedelta(seconds=found["seconds"]), **moments)


def to_priority(text: str | None) -> Priority:
    return Priority.NORMAL if text is None else Priority(text)


def to_lease(row: Row[Any], reservations: tuple[Reservation, ...], events: tuple[Event, ...]) -> Lease:
    """Return the lease; ``reservations`` are also those that leave it."""
    own, leaving = _divided(reservations)
    return Lease(
        id=row.id,
        name=row.name,
        user_id=row.user_id,
        project_id=row.project_id,
        interval=Interval(row.start_date, row.end_date),
        status=LeaseStatus(row.status),
        status_reason=row.status_reason,
        degraded=row.degraded,
        trust_id=row.trust_id,
        reservations=own,
        events=events,
        revision=row.revision,
        created_at=row.created_at,
        updated_at=row.updated_at,
        quantities=row.quantities,
        waiting=None if row.waiting is None else to_waiting(row.waiting),
        claim_by=None if row.claim_by is None else to_claim_by(row.claim_by),
        leaving=leaving,
        priority=to_priority(row.priority),
        series_id=row.series_id,
        access_revision=row.access_revision or 0,
        start_task=row.start_task,
    )


def _divided(
    stored: tuple[Reservation, ...],
) -> tuple[tuple[Reservation, ...], tuple[Reservation, ...]]:
    """Return the reservations of a lease, and those that leave it."""
    leaving = tuple(each for each in stored if each.status is ReservationStatus.LEAVING)
    if not leaving:
        return stored, leaving
    return tuple(each for each in stored if each.status is not ReservationStatus.LEAVING), leaving


def to_reservation(
    row: Row[Any], allocations: tuple[Allocation, ...], surplus: tuple[Allocation, ...] = ()
) -> Reservation:
    return Reservation(
        id=row.id,
        lease_id=row.lease_id,
        resource_id=row.resource_id,
        resource_type=row.resource_type,
        parameters=row.parameters,
        status=ReservationStatus(row.status),
        status_reason=row.status_reason,
        missing_resources=row.missing_resources,
        resources_changed=row.resources_changed,
        cloud_state=row.cloud,
        allocations=allocations,
        surplus=surplus,
        region=row.region,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


EVENT_TYPES = frozenset(EventType)
EVENT_STATUSES = frozenset(EventStatus)


def is_known_event(row: Any) -> bool:
    """Return false for an event that only a newer version knows: it is neither read nor changed."""
    return row.event_type in EVENT_TYPES and row.status in EVENT_STATUSES


def to_event(row: Row[Any]) -> Event:
    return Event(
        id=row.id,
        lease_id=row.lease_id,
        event_type=EventType(row.event_type),
        time=row.time,
        status=EventStatus(row.status),
        due=None if row.due == row.time else row.due,
        attempts=row.attempts,
        reason=row.reason,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


LISTED_LEASE = (
    *("id", "name", "user_id", "project_id", "start_date", "end_date", "status", "status_reason", "degraded"),
    *("trust_id", "revision", "created_at", "updated_at", "waiting", "claim_by", "priority", "series_id"),
    *("access_revision", "start_task"),
)
LISTED_RESERVATION = (
    *("lease_id", "id", "resource_id", "resource_type", "parameters", "status", "status_reason"),
    *("missing_resources", "resources_changed", "cloud", "region", "created_at", "updated_at"),
)
LISTED_EVENT = (
    *("lease_id", "id", "event_type", "time", "due", "status", "attempts", "reason"),
    *("created_at", "updated_at"),
)
"""The columns of which lists are made, in the order in which ListedReader takes them."""


class ListedReader:
    """Makes leases for lists, of rows whose moments and JSON are as the database has them. Many reservations
    of a list ask for the same.

    Rows are taken apart as a whole, and positions tell the values of what is made: by name, each value would
    cost twice as much, and a lease has some seventy."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, Any]] = {}

    def leases(
        self,
        found: Iterable[Sequence[Any]],
        reservations: Iterable[Sequence[Any]],
        events: Iterable[Sequence[Any]],
    ) -> list[Lease]:
        """Return the leases with their reservations and events. Those of a lease are in their order."""
        own, moments = self._reservations(reservations), self._events(events)
        return [self._lease(row, tuple(own[row[0]]), tuple(moments[row[0]])) for row in found]

    def _lease(self, row: Sequence[Any], found: tuple[Reservation, ...], events: tuple[Event, ...]) -> Lease:
        id_, name, user_id, project_id, start, end, status, status_reason, degraded, *others = row
        trust_id, revision, created_at, updated_at, waiting, claim_by, priority, *others = others
        series_id, access_revision, start_task = others
        reservations, leaving = _divided(found)
        return Lease(
            id_,
            name,
            user_id,
            project_id,
            Interval(start.replace(tzinfo=UTC), end.replace(tzinfo=UTC)),
            LeaseStatus(status),
            status_reason,
            degraded,
            trust_id,
            reservations,
            events,
            revision,
            created_at.replace(tzinfo=UTC),
            _utc(updated_at),
            waiting=None if waiting is None else to_waiting(json.loads(waiting)),
            claim_by=None if claim_by is None else to_claim_by(json.loads(claim_by)),
            leaving=leaving,
            priority=to_priority(priority),
            series_id=series_id,
            access_revision=access_revision or 0,
            start_task=start_task,
        )

    def _reservations(self, found: Iterable[Sequence[Any]]) -> Mapping[str, list[Reservation]]:
        """Return the reservations of each lease."""
        by_lease: dict[str, list[Reservation]] = defaultdict(list)
        for row in found:
            lease_id, id_, resource_id, resource_type, parameters, status, reason, *others = row
            missing, changed, cloud_state, region, created_at, updated_at = others
            made = Reservation(
                id_,
                lease_id,
                resource_id,
                resource_type,
                self._json(parameters),
                ReservationStatus(status),
                reason,
                missing,
                changed,
                self._json(cloud_state),
                region=region,
                created_at=_utc(created_at),
                updated_at=_utc(updated_at),
            )
            by_lease[lease_id].append(made)
        return by_lease

    def _events(self, found: Iterable[Sequence[Any]]) -> Mapping[str, list[Event]]:
        """Return the events of each lease that this version knows."""
        by_lease: dict[str, list[Event]] = defaultdict(list)
        for lease_id, id_, event_type, time, due, status, attempts, reason, created_at, updated_at in found:
            if event_type in EVENT_TYPES and status in EVENT_STATUSES:
                made = Event(
                    id_,
                    lease_id,
                    EventType(event_type),
                    time.replace(tzinfo=UTC),
                    EventStatus(status),
                    None if due == time else due.replace(tzinfo=UTC),
                    attempts,
                    reason,
                    _utc(created_at),
                    _utc(updated_at),
                )
                by_lease[lease_id].append(made)
        return by_lease

    def _json(self, text: str) -> Mapping[str, Any]:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = json.loads(text)
        return known


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=UTC)


KEPT_INTERVALS = 1000
"""Those of a lease come one after another."""


class AllocationReader:
    """Makes allocations of rows in the order of ``selections.allocations_where``.

    A calendar reads hundreds of thousands at once, most of which share their usage and resource with others,
    and many their interval."""

    def __init__(self) -> None:
        self._usages: dict[str, Usage] = {}
        self._intervals: dict[tuple[datetime, datetime], Interval] = {}
        self._resource_ids: dict[str, str] = {}

    def __call__(self, row: Sequence[Any]) -> Allocation:
        id_, lease_id, reservation_id, resource_id, start, end, usage, slots, bound, created_at = tuple(row)
        interval = self._intervals.get((start, end))
        if interval is None:
            interval = Interval(start.replace(tzinfo=UTC), end.replace(tzinfo=UTC))
            if len(self._intervals) >= KEPT_INTERVALS:
                self._intervals.clear()
            self._intervals[start, end] = interval
        return Allocation(
            id=id_,
            reservation_id=reservation_id,
            lease_id=lease_id,
            resource_id=self._resource_ids.setdefault(resource_id, resource_id),
            interval=interval,
            usage=WHOLE if usage is None else self._usage(usage),
            slots=slots,
            bound=bound,
            created_at=created_at.replace(tzinfo=UTC),
        )

    def _usage(self, text: str) -> Usage:
        usage = self._usages.get(text)
        if usage is None:
            usage = self._usages[text] = Usage(json.loads(text))
        return usage


def _failure(row: Row[Any]) -> Failure | None:
    if row.failed_at is None:
        return None
    return Failure(FailureReason(row.failure_reason), row.failed_at, row.back_at)


def to_listed(found: Sequence[Row[Any]]) -> list[Registration]:
    """Return registrations without traits and inventory, of rows in the order of
    ``selections.listed_registrations``. They are made column by column, for a list has very many rows."""
    if not found:
        return []
    ids, pools, names, facts, capabilities, reservable, generations, *others = zip(*found, strict=True)
    created, updated, failed, back, reasons, cloud_ids = others
    failures = map(_listed_failure, failed, back, reasons) if any(failed) else repeat(None)
    return list(
        map(
            Registration,
            ids,
            pools,
            names,
            _of_texts(facts),
            _of_texts(capabilities),
            repeat(frozenset[str]()),
            repeat(dict[str, Inventory]()),
            reservable,
            generations,
            map(_utc, created),
            map(_utc, updated),
            failures,
            cloud_ids,
        )
    )


def _of_texts(texts: Sequence[str]) -> list[Any]:
    """Return the values of a column of JSON."""
    found: list[Any] = json.loads(f"[{','.join(texts)}]")
    return found


def _listed_failure(failed: datetime | None, back: datetime | None, reason: str | None) -> Failure | None:
    if failed is None or reason is None:
        return None
    return Failure(FailureReason(reason), failed.replace(tzinfo=UTC), _utc(back))


class RegistrationReader:
    """Makes registrations of rows; ten thousand hosts of one model share their traits and inventory."""

    def __init__(self) -> None:
        self._traits: dict[str, frozenset[str]] = {}
        self._inventories: dict[str, Mapping[str, Inventory]] = {}

    def __call__(self, row: Row[Any]) -> Registration:
        return Registration(
            id=row.id,
            pool=Pool(row.pool),
            name=row.name,
            facts=json.loads(row.facts),
            capabilities=json.loads(row.capabilities),
            traits=self._traits_of(row.traits),
            inventory=self._inventory_of(row.inventory),
            reservable=row.reservable,
            generation=row.generation,
            created_at=row.created_at,
            updated_at=row.updated_at,
            failure=_failure(row),
            cloud_id=row.cloud_id,
        )

    def _traits_of(self, text: str) -> frozenset[str]:
        traits = self._traits.get(text)
        if traits is None:
            traits = self._traits[text] = frozenset(sys.intern(name) for name in json.loads(text))
        return traits

    def _inventory_of(self, text: str) -> Mapping[str, Inventory]:
        inventory = self._inventories.get(text)
        if inventory is None:
            pairs: dict[str, list[int]] = json.loads(text)
            inventory = {name: Inventory(capacity, unit) for name, (capacity, unit) in pairs.items()}
            self._inventories[text] = inventory
        return inventory
