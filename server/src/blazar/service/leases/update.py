"""The update of a lease: new dates, a new name, other parameters of its reservations, or other
reservations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from blazar.domain.errors import (
    BlazarError,
    Busy,
    CantUpdateParameter,
    CloudUnavailable,
    InvalidInput,
    InvalidStatus,
    NotEnoughResources,
    OutcomeUnknown,
    Stale,
)
from blazar.domain.lease import change, leaving
from blazar.domain.lease.event import EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.lease.surplus import with_surplus
from blazar.domain.planning.plan import Plan
from blazar.domain.time import MINUTE, Interval, floor_minute
from blazar.service.admission import Admission, with_allocations
from blazar.service.commands import (
    NOW,
    UNSET,
    ClaimByWish,
    PriorityWish,
    ReservationChange,
    ReservationsChange,
    UpdateLease,
)
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement, RequestCheck
from blazar.service.ids import new_id
from blazar.service.leases.claim_by import changed_claim_by, default_again
from blazar.service.leases.dates import moment_of
from blazar.service.leases.drafts import draft_reservation
from blazar.service.leases.late_binding import LateBinding, RoomMade
from blazar.service.leases.precondition import Precondition
from blazar.service.leases.priority import changed_priority
from blazar.service.leases.settings import ClaimBySettings, LeaseSettings
from blazar.service.leases.store import LeaseChange, LeaseStore
from blazar.service.leases.wait import ONLY_THESE, LeaseWait
from blazar.service.notifications import LEASE_UPDATE, WARNING_WITHDRAWN
from blazar.service.ports import Clock, Nudge
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation, Task

MOST_LEAVING = 128
"""How many reservations may be leaving a lease at once."""
MOST_IDS = 16
"""How many ids an added reservation may have, one after the other, while its request is repeated."""


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
        late_binding: LateBinding,
    ) -> None:
        self._wait = wait
        self._late_binding = late_binding
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
        membership: ReservationsChange | None = None,
        priority: PriorityWish | None = None,
    ) -> Lease:
        """Return the lease as ``update`` would leave it now. Nothing is written or made."""
        now = self._clock.now()
        old = self._store.load(lease_id)
        change.require_understood(old)
        if (waiting := _waits(old, duration, wait_until, claim_by, membership, priority)) is not None:
            return self._wait.change(waiting, command, wait_until, expected, caller, is_preview=True)
        command, membership = _with_end(command, old, duration, now), outstanding(membership, old)
        named = changed_claim_by(_renamed(old, command), claim_by, settings.claim_by, now)
        named = changed_priority(named, priority, now)
        only_renames = membership is None and _only_renames(command, old, now)
        defaults = settings.claim_by if claim_by is None else None
        new = (
            named if only_renames else self._complete(old, named, command, membership, caller, now, defaults)
        )
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
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None,
        membership: ReservationsChange | None,
    ) -> tuple[Lease, Lease, Interval]:
        """Return the lease as it is and as the command asks for it, checked, and the time that is planned."""
        now = self._clock.now()
        old = self._store.load(lease_id)
        change.require_understood(old)
        command, membership = _with_end(command, old, duration, now), outstanding(membership, old)
        new = self._complete(old, _renamed(old, command), command, membership, caller, now)
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
        membership: ReservationsChange | None = None,
        priority: PriorityWish | None = None,
    ) -> Lease:
        check = self._enforcement.of_request(caller)
        lease = self._admission.until_committed(
            lambda: self._attempt(
                lease_id,
                command,
                caller,
                check,
                duration,
                expected,
                settings,
                wait_until,
                claim_by,
                membership,
                priority,
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
        membership: ReservationsChange | None,
        priority: PriorityWish | None,
    ) -> Lease:
        """Change the lease as it is now, if it is as ``expected``. A lease that is as asked for stays: the
        request was made before, and only its answer was lost."""
        now = self._clock.now()
        caller.require_time(now)
        old = self._store.load(lease_id)
        change.require_understood(old)
        if (waiting := _waits(old, duration, wait_until, claim_by, membership, priority)) is not None:
            return self._wait.change(waiting, command, wait_until, expected, caller)
        command, membership = _with_end(command, old, duration, now), outstanding(membership, old)
        named = changed_claim_by(_renamed(old, command), claim_by, settings.claim_by, now)
        named = changed_priority(named, priority, now)
        only_renames = membership is None and _only_renames(command, old, now)
        defaults = settings.claim_by if claim_by is None else None
        new = (
            named if only_renames else self._complete(old, named, command, membership, caller, now, defaults)
        )
        if new == old:
            return old
        expected.require(old)
        if only_renames:
            is_same = (named.claim_by, named.priority) == (old.claim_by, old.priority)
            told = () if is_same else (LEASE_UPDATE,)
            return self._store.commit(LeaseChange(old, named, notifications=told), caller)
        task = self._preparation.task(old, new, caller)
        if task is None:
            decided = self._decided(old, new, caller, now, check)
            lease = self._store.commit(decided, caller)
            self._late_binding.tell(decided.replanned)
            self._withdraw_removed(old, lease)
            return lease
        return self._make_and_commit(old, new, task, caller, now, check, expected)

    # decide

    def _complete(
        self,
        old: Lease,
        named: Lease,
        command: UpdateLease,
        membership: ReservationsChange | None,
        caller: Caller,
        now: datetime,
        defaults: ClaimBySettings | None = None,
    ) -> Lease:
        """Return the lease as it is asked for, with what only the cloud knows. With ``defaults`` it is found
        out anew how soon it has to be used, where its reservations are of other kinds."""
        is_same = named == old and membership is None
        if not old.status.is_stable and is_same and self._has_all(old, command):
            return old
        changed = self._changed(old, named, command, now)
        if membership is not None:
            changed = self._with_members(old, changed, membership)
            if defaults is not None:
                changed = default_again(changed, old, defaults, now)
        return self._preparation.complete(old, changed, caller)

    def _with_members(self, old: Lease, changed: Lease, membership: ReservationsChange) -> Lease:
        """Return the lease with the reservations that it is to get, and without those that it is to lose.
        Raises InvalidStatus and InvalidInput where that cannot be, and what ``parse`` of a kind raises."""
        if old.status not in (LeaseStatus.PENDING, LeaseStatus.ACTIVE):
            raise InvalidStatus(
                reason=f"the lease is {old.status}; reservations are added and removed before it starts and "
                "while it is active."
            )
        added = [draft_reservation(old.id, each.request, self._kinds, each.id) for each in membership.added]
        rest = leaving.without(changed, membership.removed, new_id)
        if len(rest.leaving) + len(added) > MOST_LEAVING:
            raise InvalidStatus(reason="the cloud has not given back yet what was removed from it before.")
        new = replace(rest, reservations=(*rest.reservations, *added))
        if old.reservations and not new.reservations:
            raise InvalidInput(
                "The last reservation of a lease cannot be removed: end the lease, or delete it."
            )
        if added:
            self._admission.require_few(len(new.reservations))
        return new

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
        if new.asks_as(old) and new.interval == old.interval:
            return LeaseChange(old, new, notifications=notifications)
        removed = [each for each in old.reservations if new.reservation(each.id) is None]
        others = [each for each in new.reservations if not _asks_the_same(each, old)]
        is_within = _lies_within(new.interval, old.interval)
        if is_within and not others:
            # Less of what it has already: no plan is needed, and none can be refused.
            less = change.shrunk(new)
            if removed and old.status is LeaseStatus.ACTIVE:
                less = change.with_work(less, EventType.CONVERGE, now, new_id)
            return LeaseChange(old, less, given_back=old.resource_ids, notifications=notifications)
        ids = {each.id for each in new.reservations if old.reservation(each.id) is None}
        if ids:
            ahead = replace(new, interval=_ahead(new, now))
            new = replace(new, reservations=self._admission.in_regions(ahead, caller, only=ids).reservations)
        added = [each for each in new.reservations if each.id in ids]
        # Of an active lease, what is not asked about stays as it is.
        only_added = old.status is LeaseStatus.ACTIVE and is_within and len(added) == len(others)
        asked = added if only_added else new.reservations
        room = self._room(asked, _ahead(new, now), caller, [each.id for each in removed])
        plan = room.plan
        planned = with_surplus(_placed(new, asked, plan), old, new_id)
        has_other_slots = any(k.old.slots != k.new.slots for k in plan.kept)
        has_other_use = any(self._has_other_use(each, old) for each in others)
        is_to_converge = plan.added or plan.released or has_other_slots or has_other_use or removed
        if old.status is LeaseStatus.ACTIVE and is_to_converge:
            planned = change.with_work(planned, EventType.CONVERGE, now, new_id)
        if old.status is LeaseStatus.PENDING and any(map(self._is_made_ready, added)):
            planned = change.with_work(planned, EventType.READY, now, new_id)
        # Also those of resources that stay as they are: a property that the lease relies on from now on must
        # not be taken from a host at the same moment.
        generations = {**plan.relied_on, **plan.generations}
        left = {i for i in old.resource_ids if i not in generations} if removed or only_added else set()
        return LeaseChange(
            old,
            planned,
            generations,
            sorted({*left, *room.given_back} - generations.keys()),
            notifications=notifications,
            replanned=room.replanned,
        )

    def _room(
        self, asked: Sequence[Reservation], interval: Interval, caller: Caller, given_up: Sequence[str]
    ) -> RoomMade:
        """Return the plan of these reservations, as ``Admission.plan`` does. Where there is not enough, room
        is made."""
        try:
            return RoomMade(self._admission.plan(asked, interval, caller, given_up))
        except NotEnoughResources:
            room = self._late_binding.find(asked, interval, caller, given_up)
            if room is None:
                raise
            return room

    def _has_other_use(self, reservation: Reservation, old: Lease) -> bool:
        before, kind = old.reservation(reservation.id), self._kinds[reservation.resource_type]
        return before is not None and kind.has_other_use(before, reservation)

    def _is_made_ready(self, reservation: Reservation) -> bool:
        return self._kinds[reservation.resource_type].is_made_ready(reservation)

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
        joining = [
            r for r in task.marked(new).reservations if r.id in task.marks and not old.reservation(r.id)
        ]
        marked = leaving.expected(task.marked(old), joining)
        if marked != old:
            old = self._store.commit(LeaseChange(old, marked), caller)
            expected.accept(old)
        before = task.marked(new)
        try:
            ready = self._preparation.make(before, task, caller)
        except BlazarError as failure:
            self._forget(old, joining, failure)
            raise
        try:
            decided = self._decided(old, ready, caller, now, check)
            lease = self._admission.commit_once(lambda: self._store.commit(decided, caller), caller.deadline)
            self._late_binding.tell(decided.replanned)
        except OutcomeUnknown:
            # The change may be stored, and what was made for it in use.
            raise
        except BlazarError as failure:
            # Stored all the same where the outcome of the commit was not known at first: the next attempt
            # finds it.
            stored = self._store.find(old.id) or before
            is_gone = [self._preparation.discard(each, stored) for each in (ready, old)]
            if all(is_gone):
                self._forget(stored, joining, failure)
            raise
        self._preparation.discard(old, lease)
        self._withdraw_removed(old, lease)
        return lease

    def _forget(self, stored: Lease, joining: Sequence[Reservation], failure: BlazarError) -> None:
        """Forget what was to join the lease, for which there is nothing in the cloud. Where the cloud did not
        answer, or the lease has changed, the engine looks what there is."""
        ids = {each.id for each in joining}
        stay = tuple(each for each in stored.leaving if each.id not in ids)
        if stay != stored.leaving and not isinstance(failure, CloudUnavailable | Stale):
            with suppress(BlazarError):
                self._store.commit(LeaseChange(stored, replace(stored, leaving=stay)))

    def _withdraw_removed(self, old: Lease, lease: Lease) -> None:
        """Remove what requests have made for what was removed before the start, which is all that there is.
        Where that fails, the engine does it after the start."""
        if lease.status is LeaseStatus.PENDING and lease.leaving:
            removed = tuple(each for each in old.reservations if lease.reservation(each.id) is None)
            gone = replace(old, reservations=removed, trust_id=None)
            self._preparation.discard(gone, replace(lease, leaving=()))


def outstanding(membership: ReservationsChange | None, lease: Lease) -> ReservationsChange | None:
    """Return what is yet to be done of the change; None where that is nothing, for the request was made
    before, and only its answer was lost.

    An id that leaves the lease is not used again, for the engine may be removing what was made under it: the
    next one follows from it. So whichever of these ids the lease has, it has what was to be added."""
    if membership is None:
        return None
    added = []
    for each in membership.added:
        ids = [each.id, *(str(uuid5(UUID(each.id), str(n))) for n in range(MOST_IDS))]
        if not any(map(lease.reservation, ids)):
            free = next((i for i in ids if lease.remembered(i) is None), None)
            if free is None:
                raise Busy()
            added.append(replace(each, id=free))
    removed = tuple(i for i in membership.removed if lease.reservation(i) is not None)
    return ReservationsChange(tuple(added), removed) if added or removed else None


def _asks_the_same(reservation: Reservation, old: Lease) -> bool:
    before = old.reservation(reservation.id)
    return before is not None and before.parameters == reservation.parameters


def _placed(new: Lease, asked: Sequence[Reservation], plan: Plan) -> Lease:
    """Return the lease with what the plan gives to the reservations that were ``asked`` for; the others keep
    what they have."""
    placed = with_allocations(replace(new, reservations=tuple(asked)), plan)
    known = {each.id: each for each in placed.reservations}
    rest = new if len(known) == len(new.reservations) else change.shrunk(new)
    return replace(new, reservations=tuple(known.get(each.id, each) for each in rest.reservations))


def _waits(
    old: Lease,
    duration: timedelta | None,
    wait_until: datetime | None,
    claim_by: ClaimByWish | None,
    membership: ReservationsChange | None,
    priority: PriorityWish | None,
) -> Lease | None:
    """Return the lease where it waits in line. Raises InvalidStatus where what is asked for needs the
    opposite."""
    if old.status is LeaseStatus.WAITING:
        if any(asked is not None for asked in (duration, claim_by, membership, priority)):
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
