"""The import itself: what upstream has is taken one by one, each in a transaction of its own.

What was taken is recorded in the same transaction. So a run that was cut off is repeated, and a run after the
last one changes nothing, whatever has become since of what was taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.errors import Stale
from blazar.domain.lease.healing import LOST
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.planning.plan import Plan
from blazar.domain.planning.planner import Allowance, PlanRequest, plan
from blazar.domain.resource import Allocation, Pool, Registration
from blazar.kinds.flavor import FlavorKind
from blazar.kinds.floatingip import FloatingIPKind
from blazar.kinds.floatingip.names import POOL as FLOATING_IPS
from blazar.kinds.host import HostKind
from blazar.kinds.instance import InstanceKind
from blazar.kinds.registered_hosts.bodies import is_key
from blazar.kinds.registered_hosts.pool import POOL as HOSTS
from blazar.service.admission import with_allocations
from blazar.service.ports import Clock, Database, ImportRecord, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.private_properties import RESOURCE_TYPE
from blazar.upstream.leases import OVER, lease_of
from blazar.upstream.report import Line, Verdict, line
from blazar.upstream.resources import Refusal, floatingip_of, host_of
from blazar.upstream.source import LeaseRows, Source

PROPERTY, HOST, FLOATING_IP, LEASE = "property", "host", "floating IP", "lease"
"""The sorts of things, as reports and records name them."""
KINDS: Kinds = {kind.resource_type: kind() for kind in (HostKind, InstanceKind, FlavorKind, FloatingIPKind)}
ORDER = ("ACTIVE", "TERMINATING", "DELETING", "STARTING", "UPDATING", "ERROR", "CREATING", "PENDING")
"""What has begun has its hosts, so it is taken first. What is over comes last."""
TAKEN_MEANWHILE = "its id, or that of something of it, is taken here"

Work = Callable[..., None]
"""A transaction: it gets the unit of work and ``now``."""


class Import:
    """One run. Nothing is written where ``is_dry_run``."""

    def __init__(self, source: Source, database: Database, clock: Clock, is_dry_run: bool = False) -> None:
        self._source = source
        self._database = database
        self._clock = clock
        self._is_dry_run = is_dry_run
        self._calendars: dict[Pool, Calendar] = {}
        self._registered: dict[tuple[Pool, str], str] = {}  # ids by name
        self._ids: dict[str, str] = {}  # of resources here by those in upstream

    def run(self) -> Iterator[Line]:
        """Take all there is. Yield a line for each thing when it is stored. Raises CloudUnavailable, Busy."""
        for pool in (HOSTS, FLOATING_IPS):
            self._load(pool)
        yield from self._properties()
        yield from self._hosts()
        yield from self._floatingips()
        yield from self._leases()

    def _load(self, pool: Pool) -> None:
        self._calendars[pool] = calendar = Calendar()
        with self._database.read() as uow:
            for resource, allocations in uow.resources.occupancy(pool):
                self._registered[pool, resource.name] = resource.id
                calendar.put(resource.resource, allocations)

    def _known(self, noun: str, ids: Sequence[str]) -> Mapping[str, str]:
        with self._database.read() as uow:
            return uow.imports.known(noun, ids)

    def _write(self, work: Work) -> None:
        """Commit, unless nothing is to be written. Raises Refusal where something of it is there."""
        now = self._clock.now()
        if self._is_dry_run:
            return
        try:
            self._database.transact(lambda uow: work(uow, now=now))
        except Stale:
            raise Refusal(TAKEN_MEANWHILE) from None

    # resources

    def _properties(self) -> Iterator[Line]:
        with self._database.read() as uow:
            known = uow.resources.private_properties(RESOURCE_TYPE)
        for (resource_type, name), private in sorted(self._source.private_properties().items()):
            if resource_type != RESOURCE_TYPE or not is_key(name):
                reason = f"it is of {resource_type!a}, or its name is not allowed"
                yield Line(PROPERTY, ascii(name), Verdict.REFUSED, (reason,), is_over=True)
            elif name in known:
                yield Line(PROPERTY, name, Verdict.PRESENT)
            else:
                self._write(partial(_add_property, name=name, private=private))
                yield line(PROPERTY, name, (), *(["private"] if private else []))

    def _hosts(self) -> Iterator[Line]:
        for rows in self._source.hosts():
            name = f"{rows.host.id} ({rows.host.hypervisor_hostname})"
            yield self._resource(HOST, rows.host.id, name, partial(host_of, rows))

    def _floatingips(self) -> Iterator[Line]:
        for row in self._source.floatingips():
            name = f"{row.id} ({row.floating_ip_address})"
            yield self._resource(FLOATING_IP, row.id, name, partial(floatingip_of, row))

    def _resource(
        self, noun: str, id_: str, name: str, read: Callable[[], tuple[Registration, Sequence[str]]]
    ) -> Line:
        before = self._known(noun, [id_])
        if id_ in before:
            self._ids[id_] = before[id_]
            return Line(noun, name, Verdict.PRESENT)
        try:
            resource, notes = read()
            notes = self._register(noun, id_, resource, notes)
        except Refusal as refusal:
            return Line(noun, name, Verdict.REFUSED, (str(refusal),))
        return line(noun, name, notes)

    def _register(self, noun: str, id_: str, resource: Registration, notes: Sequence[str]) -> Sequence[str]:
        """Store the resource, unless it is registered here. Return what is different."""
        calendar, name = self._calendars[resource.pool], (resource.pool, resource.name)
        here = self._registered.get(name)
        if here is None and resource.id in calendar:
            raise Refusal("another one has its id here")
        record = ImportRecord(noun, id_, here or resource.id)
        self._write(partial(_add_resource, record=record, resource=None if here else resource))
        self._ids[id_] = self._registered[name] = record.target_id
        if here is not None:
            return [f"it is registered here already, as {here}"]
        calendar.put(resource.resource, ())
        return notes

    # leases

    def _leases(self) -> Iterator[Line]:
        statuses = {row.id: row.status for row in self._source.statuses()}
        known = self._known(LEASE, list(statuses))
        yield from (Line(LEASE, id_, Verdict.PRESENT) for id_ in statuses if id_ in known)
        wanted = sorted((id_ for id_ in statuses if id_ not in known), key=lambda id_: _turn(statuses[id_]))
        for rows in self._source.leases(wanted):
            yield self._lease(rows)

    def _lease(self, rows: LeaseRows) -> Line:
        try:
            lease, notes = lease_of(rows, self._ids, self._clock.now())
            if lease.status is LeaseStatus.PENDING:
                lease, moved = self._apart(lease)
                notes = [*notes, *moved]
            made = rows.lease.created_at
            self._write(partial(_add_lease, lease=lease, made=made.replace(tzinfo=UTC) if made else None))
        except Refusal as refusal:
            is_over = rows.lease.status == OVER
            return Line(LEASE, rows.lease.id, Verdict.REFUSED, (str(refusal),), is_over)
        if lease.status is not LeaseStatus.TERMINATED:
            for calendar in self._calendars.values():
                for allocation in lease.allocations:
                    calendar.add(allocation)
        return line(LEASE, lease.id, notes, str(lease.status))

    def _apart(self, lease: Lease) -> tuple[Lease, Sequence[str]]:
        """Return the lease with other resources in place of those that upstream has promised twice, where
        there are such."""
        twice = {a.id for a in lease.allocations if self._collides(a)}
        if not twice:
            return lease, ()
        found = [self._planned(lease, pool) for pool in self._pools(lease)]
        plans = [each for each in found if isinstance(each, Plan)]
        if len(plans) == len(found):
            return with_allocations(lease, Plan.joined(plans)), [
                "it has other resources: upstream promised some of its own twice"
            ]
        flagged = tuple(_flagged(each, twice) for each in lease.reservations)
        names = ", ".join(sorted({a.resource_id for a in lease.allocations if a.id in twice}))
        note = f"upstream promised {names} to another lease as well, and nothing else is free"
        return replace(lease, reservations=flagged, degraded=True), [note]

    def _collides(self, allocation: Allocation) -> bool:
        """Return whether another lease has the resource at that time, and one of the two has all of it."""
        others = (c.allocations_of(allocation.resource_id) for c in self._calendars.values())
        return any(
            other.interval.overlaps(allocation.interval) and (other.usage.whole or allocation.usage.whole)
            for some in others
            for other in some
        )

    def _pools(self, lease: Lease) -> Sequence[Pool]:
        return sorted({KINDS[each.resource_type].pool for each in lease.reservations})

    def _planned(self, lease: Lease, pool: Pool) -> object:
        kinds = ((each, KINDS[each.resource_type]) for each in lease.reservations)
        demands = tuple(kind.demand(each) for each, kind in kinds if kind.pool == pool)
        return plan(self._calendars[pool].snapshot(), PlanRequest(lease.interval, demands), Allowance())


def _turn(status: str | None) -> int:
    if status == OVER:
        return len(ORDER) + 1
    return ORDER.index(status) if status in ORDER else len(ORDER)


def _flagged(reservation: Reservation, twice: set[str]) -> Reservation:
    if all(allocation.id not in twice for allocation in reservation.allocations):
        return reservation
    return replace(reservation, missing_resources=True, status_reason=LOST)


# the transactions


def _add_property(uow: UnitOfWork, name: str, private: bool, now: datetime) -> None:
    uow.resources.add_properties(RESOURCE_TYPE, [name], now)
    uow.resources.set_property_private(RESOURCE_TYPE, name, private, now)


def _add_resource(
    uow: UnitOfWork, record: ImportRecord, resource: Registration | None, now: datetime
) -> None:
    uow.imports.add(record, now)
    if resource is not None:
        uow.resources.add(resource, now)


def _add_lease(uow: UnitOfWork, lease: Lease, made: datetime | None, now: datetime) -> None:
    uow.imports.add(ImportRecord(LEASE, lease.id, lease.id), now)
    uow.leases.add(lease, made or now)
    # A manager that is running learns by this that they are occupied.
    uow.resources.touch(lease.resource_ids, now, [lease.id])
