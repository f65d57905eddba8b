"""The update of a lease: new dates, a new name, or other parameters of its reservations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from blazar.domain.errors import (
    BlazarError,
    CantUpdateParameter,
    InvalidInput,
    InvalidStatus,
    OutcomeUnknown,
)
from blazar.domain.lease import change
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.surplus import with_surplus
from blazar.domain.time import MINUTE, Interval, floor_minute
from blazar.service.admission import Admission, with_allocations
from blazar.service.commands import NOW, UNSET, ClaimByWish, ReservationChange, UpdateLease
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement, RequestCheck
from blazar.service.ids import new_id
from blazar.service.leases.claim_by import changed_claim_by
from blazar.service.leases.dates import moment_of
from blazar.service.leases.precondition import Precondition
from blazar.service.leases.settings import LeaseSettings
from blazar.service.leases.store import LeaseChange, LeaseStore
from blazar.service.leases.wait import ONLY_THESE, LeaseWait
from blazar.service.notifications import LEASE_UPDATE, WARNING_WITHDRAWN
from blazar.service.ports import Clock, Nudge
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation, Task


class LeaseUpdate:
    """The story of a change. ``attempt`` may be repeated: it finds what it has stored before."""

    def __init__(
        self,
        store: LeaseStore,
        admission: Admission,
        preparation: Preparation,
        kinds: Kinds,
        clock: Clock,
        nudge: Nudge,
        enforcement: Enforcement,
        wait: LeaseWait,
    ) -> None:
        self._wait = wait
        self._enforcement = enforcement
        self._store = store
        self._admission = admission
        self._preparation = preparation
        self._kinds = kinds
        self._clock = clock
        self._nudge = nudge

    def preview(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None,
        expected: Precondition,
        settings: LeaseSettings,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
    ) -> Lease:
        """Return the lease as ``update`` would leave it now. Nothing is written or made."""
        now = self._clock.now()
        old = self._store.load(lease_id)
        change.require_understood(old)
        if (waiting := _waits(old, duration, wait_until, claim_by)) is not None:
            return self._wait.change(waiting, command, wait_until, expected, caller, is_preview=True)
        command = _with_end(command, old, duration, now)
        named = changed_claim_by(_renamed(old, command), claim_by, settings.claim_by, now)
        only_renames = _only_renames(command, old, now)
        new = named if only_renames else self._complete(old, named, command, caller, now)
        if new == old:
            return old
        expected.require(old)
        if only_renames:
            return named
        self._preparation.require_rights(new, self._preparation.task(old, new, caller), caller)
        planned = self._planned(old, new, caller, now).new
        assert planned is not None  # noqa: S101 - an update removes no lease
        self._enforcement.preview(old, planned, caller)
        return self._store.preview(old, planned, caller)

    def wanted(
        self, lease_id: str, command: UpdateLease, caller: Caller, duration: timedelta | None
    ) -> tuple[Lease, Lease, Interval]:
        """Return the lease as it is and as the command asks for it, checked, and the time that is planned."""
        now = self._clock.now()
        old = self._store.load(lease_id)
        change.require_understood(old)
        command = _with_end(command, old, duration, now)
        new = self._complete(old, _renamed(old, command), command, caller, now)
        return old, new, _ahead(new, now)

    def update(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None,
        expected: Precondition,
        settings: LeaseSettings,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
    ) -> Lease:
        check = self._enforcement.of_request(caller)
        lease = self._admission.until_committed(
            lambda: self._attempt(
                lease_id, command, caller, check, duration, expected, settings, wait_until, claim_by
            ),
            caller.deadline,
        )
        self._nudge(lease.next_due)
        return lease

    def _attempt(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        check: RequestCheck,
        duration: timedelta | None,
        expected: Precondition,
        settings: LeaseSettings,
        wait_until: datetime | None,
        claim_by: ClaimByWish | None,
    ) -> Lease:
        """Change the lease as it is now, if it is as ``expected``. A lease that is as asked for stays: the
        request was made before, and only its answer was lost."""
        now = self._clock.now()
        caller.require_time(now)
        old = self._store.load(lease_id)
        change.require_understood(old)
        if (waiting := _waits(old, duration, wait_until, claim_by)) is not None:
            return self._wait.change(waiting, command, wait_until, expected, caller)
        command = _with_end(command, old, duration, now)
        named = changed_claim_by(_renamed(old, command), claim_by, settings.claim_by, now)
        only_renames = _only_renames(command, old, now)
        new = named if only_renames else self._complete(old, named, command, caller, now)
        if new == old:
            return old
        expected.require(old)
        if only_renames:
            told = () if named.claim_by == old.claim_by else (LEASE_UPDATE,)
            return self._store.commit(LeaseChange(old, named, notifications=told), caller)
        task = self._preparation.task(old, new, caller)
        if task is None:
            return self._store.commit(self._decided(old, new, caller, now, check), caller)
        return self._make_and_commit(old, new, task, caller, now, check, expected)

    # decide

    def _complete(
        self, old: Lease, named: Lease, command: UpdateLease, caller: Caller, now: datetime
    ) -> Lease:
        """Return the lease as it is asked for, with what only the cloud knows."""
        if not old.status.is_stable and named == old and self._has_all(old, command):
            return old
        return self._preparation.complete(old, self._changed(old, named, command, now), caller)

    def _changed(self, old: Lease, named: Lease, command: UpdateLease, now: datetime) -> Lease:
        """Return the lease as it is asked for, checked, with the allocations that it has now."""
        minute = floor_minute(now)
        start = old.interval.start if command.start is UNSET else moment_of(command.start, minute)
        interval = change.check_changed_interval(old, start, _end(old, command, minute), minute)
        before_end = (
            None
            if command.before_end is UNSET
            else change.check_before_end(floor_minute(command.before_end), interval)
        )
        return replace(
            named,
            interval=interval,
            reservations=self._revised(old, command.reservations),
            events=change.moved_events(named, interval, before_end, now, new_id),
        )

    def _has_all(self, lease: Lease, command: UpdateLease) -> bool:
        """Return whether a lease in transition has the dates and parameters that are asked for: the request
        was made before, only its answer was lost, and the lease cannot be changed now."""
        warning = lease.event(EventType.BEFORE_END)
        has = {
            "start": lease.interval.start,
            "end": lease.interval.end,
            "before_end": warning.time if warning else None,
        }
        return all(getattr(command, name) in (UNSET, value) for name, value in has.items()) and all(
            self._has(lease.reservation(wanted.id), wanted) for wanted in command.reservations
        )

    def _has(self, reservation: Reservation | None, wanted: ReservationChange) -> bool:
        if reservation is None or wanted.resource_type not in (None, reservation.resource_type):
            return False
        kind = self._kinds[reservation.resource_type]
        try:
            return kind.encode(kind.revise(reservation, wanted.parameters)) == reservation.parameters
        except BlazarError:  # something else is asked for, and that it is refused for its status comes first
            return False

    def _revised(self, old: Lease, changes: Sequence[ReservationChange]) -> tuple[Reservation, ...]:
        wanted = {c.id: c for c in changes}
        unknown = [c.id for c in changes if old.reservation(c.id) is None]
        if unknown:
            raise InvalidInput(
                f"Please enter valid reservation IDs. Invalid reservation IDs are: {','.join(unknown)}"
            )
        return tuple(
            self._revise(reservation, wanted[reservation.id]) if reservation.id in wanted else reservation
            for reservation in old.reservations
        )

    def _revise(self, reservation: Reservation, wanted: ReservationChange) -> Reservation:
        if wanted.resource_type not in (None, reservation.resource_type):
            raise CantUpdateParameter(param="resource_type")
        if reservation.status not in (ReservationStatus.PENDING, ReservationStatus.ACTIVE):
            raise InvalidStatus(
                reason=f"reservation {reservation.id} is {reservation.status} and cannot be changed."
            )
        kind = self._kinds[reservation.resource_type]
        return replace(reservation, parameters=kind.encode(kind.revise(reservation, wanted.parameters)))

    def _decided(
        self, old: Lease, new: Lease, caller: Caller, now: datetime, check: RequestCheck
    ) -> LeaseChange:
        """Return what is to be committed. Raises NotEnoughResources where more is asked for than can be had,
        UsageRefused where a usage filter does not allow it."""
        decided = self._planned(old, new, caller, now)
        assert decided.new is not None  # noqa: S101 - an update removes no lease
        check.check(old, decided.new)
        return decided

    def _planned(self, old: Lease, new: Lease, caller: Caller, now: datetime) -> LeaseChange:
        notifications = (LEASE_UPDATE, WARNING_WITHDRAWN) if _warning_withdrawn(old, new) else (LEASE_UPDATE,)
        asks_the_same = [r.parameters for r in new.reservations] == [r.parameters for r in old.reservations]
        if asks_the_same and new.interval == old.interval:
            return LeaseChange(old, new, notifications=notifications)
        if asks_the_same and _lies_within(new.interval, old.interval):
            # Less of what it has already: no plan is needed, and none can be refused.
            return LeaseChange(
                old, change.shrunk(new), given_back=old.resource_ids, notifications=notifications
            )
        plan = self._admission.plan(new.reservations, _ahead(new, now), caller)
        planned = with_surplus(with_allocations(new, plan), old, new_id)
        has_other_slots = any(k.old.slots != k.new.slots for k in plan.kept)
        if old.status is LeaseStatus.ACTIVE and (plan.added or plan.released or has_other_slots):
            planned = change.with_work(planned, EventType.CONVERGE, now, new_id)
        # Also those of resources that stay as they are: a property that the lease relies on from now on must
        # not be taken from a host at the same moment.
        generations = {**plan.relied_on, **plan.generations}
        return LeaseChange(old, planned, generations, notifications=notifications)

    # make and commit

    def _make_and_commit(
        self,
        old: Lease,
        new: Lease,
        task: Task,
        caller: Caller,
        now: datetime,
        check: RequestCheck,
        expected: Precondition,
    ) -> Lease:
        """Make what the change needs in the cloud, then commit it.

        A shortage, or a refusal, is told before anything is made. The lease remembers what is made before it
        is made, so that a crash leaves nothing behind. What is replaced is removed when no stored lease
        refers to it any more."""
        self._decided(old, new, caller, now, check)
        if task.marked(old) != old:
            old = self._store.commit(LeaseChange(old, task.marked(old)), caller)
            expected.accept(old)
        before = task.marked(new)
        ready = self._preparation.make(before, task, caller)
        try:
            decided = self._decided(old, ready, caller, now, check)
            lease = self._admission.commit_once(lambda: self._store.commit(decided, caller), caller.deadline)
        except OutcomeUnknown:
            # The change may be stored, and what was made for it in use.
            raise
        except BlazarError:
            # Stored all the same where the outcome of the commit was not known at first: the next attempt
            # finds it.
            stored = self._store.find(old.id) or before
            self._preparation.discard(ready, stored)
            self._preparation.discard(old, stored)
            raise
        self._preparation.discard(old, lease)
        return lease


def _waits(
    old: Lease, duration: timedelta | None, wait_until: datetime | None, claim_by: ClaimByWish | None
) -> Lease | None:
    """Return the lease where it waits in line. Raises InvalidStatus where what is asked for needs the
    opposite."""
    if old.status is LeaseStatus.WAITING:
        if duration is not None or claim_by is not None:
            raise InvalidStatus(reason=ONLY_THESE)
        return old
    if wait_until is not None:
        raise InvalidStatus(reason=f"the lease is {old.status}, and does not wait.")
    return None


def _with_end(command: UpdateLease, old: Lease, duration: timedelta | None, now: datetime) -> UpdateLease:
    """Return the command with the end that lies ``duration`` after the start that the lease is to have."""
    if duration is None:
        return command
    start = old.interval.start if command.start is UNSET else moment_of(command.start, floor_minute(now))
    return replace(command, end=start + duration)


def _renamed(old: Lease, command: UpdateLease) -> Lease:
    if old.status is LeaseStatus.DELETING:
        raise InvalidStatus(reason="the lease is being deleted.")
    return old if command.name is UNSET else replace(old, name=command.name)


def _only_renames(command: UpdateLease, old: Lease, now: datetime) -> bool:
    """Return whether nothing but the name can change. A lease that is over ends now as often as it is asked
    to, so that a request whose answer was lost may be repeated."""
    wishes_nothing_else = replace(command, name=UNSET)
    is_fulfilled = wishes_nothing_else == UpdateLease(end=NOW) and change.has_ended(old, floor_minute(now))
    return wishes_nothing_else == UpdateLease() or is_fulfilled


def _end(old: Lease, command: UpdateLease, minute: datetime) -> datetime:
    if command.end is UNSET:
        return old.interval.end
    return change.end_now(old, minute) if command.end is NOW else moment_of(command.end, minute)


def _lies_within(inner: Interval, outer: Interval) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _ahead(lease: Lease, now: datetime) -> Interval:
    """Return the part of the lease's interval that can still be planned: all of it before the start, then
    from the current minute on. Of a lease that ends in this minute it is the last one that it had."""
    if lease.status is LeaseStatus.PENDING:
        return lease.interval
    first = min(floor_minute(now), lease.interval.end - MINUTE)
    return Interval(max(lease.interval.start, first), lease.interval.end)


def _warning_withdrawn(old: Lease, new: Lease) -> bool:
    before, after = old.event(EventType.BEFORE_END), new.event(EventType.BEFORE_END)
    return bool(before and after and before.status is EventStatus.DONE and after.status is EventStatus.UNDONE)
