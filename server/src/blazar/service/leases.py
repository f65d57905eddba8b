"""What users do with leases: create, see, change and delete them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import uuid4

from blazar.domain import change
from blazar.domain.errors import (
    BlazarError,
    CantUpdateParameter,
    CloudUnavailable,
    InvalidInput,
    InvalidStatus,
    NotEnoughResources,
    NotFound,
    UnsupportedResourceType,
)
from blazar.domain.event import Event, EventStatus, EventType
from blazar.domain.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.time import MINUTE, Interval, floor_minute
from blazar.kinds.base import Kind
from blazar.service.admission import Admission, with_allocations
from blazar.service.commands import (
    NOW,
    UNSET,
    CreateLease,
    Moment,
    ReservationChange,
    ReservationRequest,
    UpdateLease,
)
from blazar.service.context import Caller, TooLate
from blazar.service.notices import LEASE_CREATE, LEASE_DELETE, LEASE_UPDATE, WARNING_WITHDRAWN, payload
from blazar.service.ports import Clock, Database, Stale, UnitOfWork
from blazar.service.preparation import Preparation, Task
from blazar.service.waiting import until

T = TypeVar("T")

CONFIRM_WITHIN = timedelta(seconds=60)
"""How long a creation may take in the cloud: after this the caller has given up, and the lease is forgotten."""
LOOK = 0.05
"""Seconds between two looks at a lease that is waited for."""


@dataclass(frozen=True, slots=True)
class LeaseRules:
    """The operator's settings for leases."""

    notice: timedelta = timedelta(minutes=60)
    """How long before the end users are warned by default; zero for never."""
    delete_wait: timedelta = timedelta(seconds=10)
    """How long a deletion waits for the cloud to be clean before it answers; it goes on afterwards."""


class _MadeBefore(Exception):
    """There is a lease with the id that was chosen for the new one."""


def new_id() -> str:
    return str(uuid4())


class Leases:
    """The use cases of leases. ``nudge`` wakes the event engine after a commit that gives it work."""

    def __init__(
        self,
        database: Database,
        admission: Admission,
        preparation: Preparation,
        kinds: Mapping[str, Kind],
        clock: Clock,
        nudge: Callable[[], None],
        rules: LeaseRules,
    ) -> None:
        self._database = database
        self._admission = admission
        self._preparation = preparation
        self._kinds = kinds
        self._clock = clock
        self._nudge = nudge
        self.rules = rules
        """May be replaced at any time; a request under way goes on with what it has seen."""

    # see

    def get(self, lease_id: str, caller: Caller) -> Lease:
        with self._database.read() as uow:
            return _existing(uow, lease_id)

    def list(self, caller: Caller, project_id: str | None) -> Sequence[Lease]:
        with self._database.read() as uow:
            return uow.leases.list(project_id)

    # create

    def create(self, command: CreateLease, caller: Caller) -> Lease:
        now = self._clock.now()
        draft = self._preparation.complete(None, self._draft(command, caller, now), caller)
        task = self._preparation.task(None, draft, caller)
        try:
            if task is None:
                lease = self._until_committed(lambda: self._admit(draft, caller, announce=True), caller)
            else:
                lease = self._create_prepared(draft, task, caller, now)
        except _MadeBefore:
            return self._made_before(draft, caller)
        self._nudge()
        return lease

    def _admit(self, draft: Lease, caller: Caller, announce: bool) -> Lease:
        """Insert the lease with what is planned for it. Raises _MadeBefore where the same request was made before."""
        try:
            return self._plan_and_insert(draft, caller, announce)
        except (NotEnoughResources, Stale):
            # The id is taken, or what is short is what the lease has already: both only where somebody asked twice.
            with self._database.read() as uow:
                if uow.leases.get(draft.id) is not None:
                    raise _MadeBefore from None
            raise

    def _plan_and_insert(self, draft: Lease, caller: Caller, announce: bool) -> Lease:
        now = self._clock.now()
        plan = self._admission.plan(draft.reservations, draft.interval)
        lease = with_allocations(draft, plan)

        def commit(uow: UnitOfWork) -> Lease:
            uow.resources.bump(plan.generations, now)
            uow.leases.add(lease, now)
            stored = _existing(uow, lease.id)
            if announce:
                uow.outbox.put(LEASE_CREATE, payload(stored, self._kinds), now)
            # As late as can be: whoever has given up waiting may have asked again, and must not get two leases.
            caller.require_time(self._clock.now())
            return stored

        return self._database.transact(commit)

    def _made_before(self, draft: Lease, caller: Caller) -> Lease:
        """The lease that the same request has made, or is making. Raises TooLate, CloudUnavailable, NotFound."""
        for _ in until(caller.deadline or self._clock.now() + CONFIRM_WITHIN, self._clock, LOOK):
            with self._database.read() as uow:
                lease = _existing(uow, draft.id)
            if (lease.user_id, lease.project_id) != (draft.user_id, draft.project_id):
                raise NotFound(object=str({"lease_id": draft.id}))
            if lease.status is not LeaseStatus.CREATING:
                return lease
        raise TooLate()

    def _until_committed(self, attempt: Callable[[], T], caller: Caller) -> T:
        return self._admission.until_committed(attempt, caller.deadline)

    def _create_prepared(self, draft: Lease, task: Task, caller: Caller, now: datetime) -> Lease:
        """Reserve first, then make what is needed in the cloud, then confirm: whenever this process dies, the engine finds
        a lease that nobody confirmed, and releases it with all that was made for it."""
        unconfirmed = change.unconfirmed(task.marked(draft), now + CONFIRM_WITHIN, new_id)
        creating = self._until_committed(lambda: self._admit(unconfirmed, caller, announce=False), caller)
        try:
            ready = self._preparation.make(creating, task, caller)
        except BlazarError:
            self._abandon(creating, caller)
            raise
        try:
            caller.require_time(self._clock.now())
            return self._confirm(creating, ready, draft.events)
        except BlazarError:
            self._preparation.discard(ready, creating)
            self._abandon(creating, caller)
            raise

    def _confirm(self, creating: Lease, ready: Lease, events: tuple[Event, ...]) -> Lease:
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Lease:
            uow.leases.save(change.confirmed(ready, events), creating, now)
            stored = _existing(uow, creating.id)
            uow.outbox.put(LEASE_CREATE, payload(stored, self._kinds), now)
            return stored

        try:
            return self._database.transact(commit)
        except (Stale, NotFound):
            raise CloudUnavailable(
                service="The cloud",
                reason="it took too long to make what the lease needs, or it was deleted meanwhile.",
            ) from None

    def _abandon(self, creating: Lease, caller: Caller) -> None:
        """Have everything released, and forget the lease."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> None:
            old = uow.leases.get(creating.id)
            if old is not None and old.status is LeaseStatus.CREATING:
                uow.leases.save(change.doomed(old, now, new_id), old, now)

        self._admission.until_committed(lambda: self._database.transact(commit))
        self._nudge()
        self._wait_until_gone(creating.id, caller)

    def _draft(self, command: CreateLease, caller: Caller, now: datetime) -> Lease:
        """The lease as it was asked for, checked, with nothing allocated yet."""
        if caller.project_id is None:
            raise InvalidInput("A lease belongs to a project: ask with a project-scoped token.")
        minute = floor_minute(now)
        interval = change.check_new_interval(_moment(command.start, minute), _moment(command.end, minute), minute)
        lease_id = command.id or new_id()
        before_end = (
            change.check_before_end(floor_minute(command.before_end), interval)
            if command.before_end is not None
            else change.default_before_end(interval, self.rules.notice)
        )
        return Lease(
            id=lease_id,
            name=command.name,
            user_id=caller.user_id,
            project_id=caller.project_id,
            interval=interval,
            reservations=tuple(self._reservation(lease_id, request) for request in command.reservations),
            events=change.new_events(lease_id, interval, before_end, new_id),
        )

    def _reservation(self, lease_id: str, request: ReservationRequest) -> Reservation:
        kind = self._kinds.get(request.resource_type)
        if kind is None:
            raise UnsupportedResourceType(resource_type=request.resource_type)
        return Reservation(
            id=new_id(),
            lease_id=lease_id,
            resource_id=new_id(),
            resource_type=request.resource_type,
            parameters=kind.parse(request.parameters),
        )

    # change

    def update(self, lease_id: str, command: UpdateLease, caller: Caller) -> Lease:
        def attempt() -> Lease:
            now = self._clock.now()
            caller.require_time(now)
            with self._database.read() as uow:
                old = _existing(uow, lease_id)
            return self._commit_change(old, self._renamed(old, command), command, caller, now)

        lease = self._until_committed(attempt, caller)
        self._nudge()
        return lease

    def _renamed(self, old: Lease, command: UpdateLease) -> Lease:
        if old.status is LeaseStatus.DELETING:
            raise InvalidStatus(reason="the lease is being deleted.")
        return old if command.name is UNSET else replace(old, name=command.name)

    def _commit_change(self, old: Lease, named: Lease, command: UpdateLease, caller: Caller, now: datetime) -> Lease:
        if command == UpdateLease(name=command.name):
            return self._save(old, named, now) if named != old else old
        minute = floor_minute(now)
        interval = change.check_changed_interval(
            old,
            _moment(command.start, minute, old.interval.start),
            change.end_now(old.interval, minute)
            if command.end is NOW
            else _moment(command.end, minute, old.interval.end),
            minute,
        )
        before_end = (
            None if command.before_end is UNSET else change.check_before_end(floor_minute(command.before_end), interval)
        )
        changed = replace(
            named,
            interval=interval,
            reservations=self._revised(old, command.reservations),
            events=change.moved_events(old, interval, before_end, now, new_id),
        )
        changed = self._preparation.complete(old, changed, caller)
        if changed == old:
            return old
        task = self._preparation.task(old, changed, caller)
        if task is None:
            return self._commit_allocations(old, changed, now)
        return self._commit_prepared(old, changed, task, caller, now)

    def _commit_prepared(self, old: Lease, changed: Lease, task: Task, caller: Caller, now: datetime) -> Lease:
        """A shortage is told before anything is made; what is made is remembered before it is made, and what it replaces
        is removed when nothing refers to it any more."""
        self._admission.plan(changed.reservations, _ahead(changed, now))
        if task.marked(old) != old:
            old = self._save(old, task.marked(old), now)
        before = task.marked(changed)
        ready = self._preparation.make(before, task, caller)
        try:
            lease = self._commit_allocations(old, ready, now)
        except BlazarError:
            self._preparation.discard(ready, before)
            raise
        self._preparation.discard(old, lease)
        return lease

    def _commit_allocations(self, old: Lease, changed: Lease, now: datetime) -> Lease:
        shrinks = old.interval.start <= changed.interval.start and changed.interval.end <= old.interval.end
        asks_the_same = [r.parameters for r in changed.reservations] == [r.parameters for r in old.reservations]
        if asks_the_same and changed.interval == old.interval:
            return self._save(old, changed, now, announce=True)
        if asks_the_same and shrinks:
            # Less of what it has already: no plan can be needed, nor refused.
            return self._save(old, change.shrunk(changed), now, announce=True, touched=_resource_ids(old))
        plan = self._admission.plan(changed.reservations, _ahead(changed, now))
        allocated = with_allocations(changed, plan)
        has_other_slots = any(k.old.slots != k.new.slots for k in plan.kept)
        if old.status is LeaseStatus.ACTIVE and (plan.added or plan.released or has_other_slots):
            allocated = change.with_work(allocated, EventType.CONVERGE, now, new_id)
        return self._save(old, allocated, now, announce=True, generations=plan.generations)

    def _revised(self, old: Lease, changes: Sequence[ReservationChange]) -> tuple[Reservation, ...]:
        wanted = {c.id: c for c in changes}
        unknown = [c.id for c in changes if old.reservation(c.id) is None]
        if unknown:
            raise InvalidInput(f"Please enter valid reservation IDs. Invalid reservation IDs are: {','.join(unknown)}")
        return tuple(
            self._revise(reservation, wanted[reservation.id]) if reservation.id in wanted else reservation
            for reservation in old.reservations
        )

    def _revise(self, reservation: Reservation, wanted: ReservationChange) -> Reservation:
        if wanted.resource_type not in (None, reservation.resource_type):
            raise CantUpdateParameter(param="resource_type")
        if reservation.status not in (ReservationStatus.PENDING, ReservationStatus.ACTIVE):
            raise InvalidStatus(reason=f"reservation {reservation.id} is {reservation.status} and cannot be changed.")
        parameters = self._kinds[reservation.resource_type].revise(reservation, wanted.parameters)
        return replace(reservation, parameters=parameters)

    def _save(
        self,
        old: Lease,
        new: Lease,
        now: datetime,
        announce: bool = False,
        generations: Mapping[str, int] | None = None,
        touched: Sequence[str] = (),
    ) -> Lease:
        def commit(uow: UnitOfWork) -> Lease:
            if touched:
                uow.resources.touch(touched, now)
            uow.resources.bump(generations or {}, now)
            uow.leases.save(new, old, now)
            stored = _existing(uow, new.id)
            if announce:
                uow.outbox.put(LEASE_UPDATE, payload(stored, self._kinds), now)
                if _warning_withdrawn(old, new):
                    uow.outbox.put(WARNING_WITHDRAWN, payload(stored, self._kinds), now)
            return stored

        return self._database.transact(commit)

    # delete

    def delete(self, lease_id: str, caller: Caller) -> None:
        """Forget the lease at once where it has nothing in the cloud; else release that first, and wait a while for it."""

        def attempt() -> bool:
            now = self._clock.now()

            def commit(uow: UnitOfWork) -> bool:
                old = _existing(uow, lease_id)
                if old.status in (LeaseStatus.PENDING, LeaseStatus.TERMINATED) and not _in_cloud(old):
                    uow.resources.touch(_resource_ids(old), now)
                    uow.leases.remove(old)
                    uow.outbox.put(LEASE_DELETE, payload(old, self._kinds), now)
                    return True
                if old.status is not LeaseStatus.DELETING:
                    uow.leases.save(change.doomed(old, now, new_id), old, now)
                return False

            return self._database.transact(commit)

        if not self._until_committed(attempt, caller):
            self._nudge()
            self._wait_until_gone(lease_id, caller)

    def _wait_until_gone(self, lease_id: str, caller: Caller) -> None:
        deadline = self._clock.now() + self.rules.delete_wait
        if caller.deadline is not None:
            deadline = min(deadline, caller.deadline)
        for _ in until(deadline, self._clock, LOOK):
            with self._database.read() as uow:
                if uow.leases.get(lease_id) is None:
                    return


def _existing(uow: UnitOfWork, lease_id: str) -> Lease:
    lease = uow.leases.get(lease_id)
    if lease is None:
        raise NotFound(object=str({"lease_id": lease_id}))
    return lease


def _moment(moment: Moment | object, minute: datetime, otherwise: datetime | None = None) -> datetime:
    if moment is NOW:
        return minute
    if isinstance(moment, datetime):
        return floor_minute(moment)
    assert otherwise is not None  # noqa: S101 - only an update leaves a date unset
    return otherwise


def _ahead(lease: Lease, now: datetime) -> Interval:
    """What of the lease's interval can still be planned: all of it before the start, then from the current minute on, and of
    a lease that ends in this minute the last one that it had."""
    if lease.status is LeaseStatus.PENDING:
        return lease.interval
    first = min(floor_minute(now), lease.interval.end - MINUTE)
    return Interval(max(lease.interval.start, first), lease.interval.end)


def _in_cloud(lease: Lease) -> bool:
    return lease.trust_id is not None or any(r.cloud for r in lease.reservations)


def _resource_ids(lease: Lease) -> list[str]:
    return sorted({allocation.resource_id for allocation in lease.allocations})


def _warning_withdrawn(old: Lease, new: Lease) -> bool:
    before, after = old.event(EventType.BEFORE_END), new.event(EventType.BEFORE_END)
    return bool(before and after and before.status is EventStatus.DONE and after.status is EventStatus.UNDONE)
