"""The creation of a lease: planned, reserved, and, where the cloud has to make something for it first,
confirmed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from blazar.domain.errors import (
    BlazarError,
    CloudUnavailable,
    InvalidInput,
    NotEnoughResources,
    OutcomeUnknown,
    Stale,
    TooLate,
    UnsupportedResourceType,
    UsageRefused,
)
from blazar.domain.lease import change
from blazar.domain.lease.event import Event
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.time import floor_minute
from blazar.service.admission import Admission, with_allocations
from blazar.service.commands import CreateLease, ReservationRequest
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.ids import new_id
from blazar.service.leases.dates import moment_of
from blazar.service.leases.delete import LeaseDeletion
from blazar.service.leases.settings import LeaseSettings
from blazar.service.leases.store import LeaseChange, LeaseStore, not_found
from blazar.service.notifications import LEASE_CREATE
from blazar.service.ports import Clock
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation, Task
from blazar.service.waiting import LEASE_PAUSES, until

CONFIRM_WITHIN = timedelta(seconds=60)
"""How long a creation may take in the cloud. After this its caller has given up, and the engine removes the
lease."""
MADE_TOO_SLOWLY = "it took too long to make what the lease needs, or it was deleted meanwhile."


class LeaseCreation:
    """The story of a creation."""

    def __init__(
        self,
        store: LeaseStore,
        admission: Admission,
        preparation: Preparation,
        deletion: LeaseDeletion,
        kinds: Kinds,
        clock: Clock,
        nudge: Callable[[], None],
        enforcement: Enforcement,
    ) -> None:
        self._enforcement = enforcement
        self._store = store
        self._admission = admission
        self._preparation = preparation
        self._deletion = deletion
        self._kinds = kinds
        self._clock = clock
        self._nudge = nudge

    def create(self, command: CreateLease, caller: Caller, settings: LeaseSettings) -> Lease:
        """Create the lease, or return the one that the same request has created before."""
        now = self._clock.now()
        draft = self._preparation.complete(None, self._draft(command, caller, now, settings), caller)
        task = self._preparation.task(None, draft, caller)
        if task is None:
            first = draft
            lease = self._reserve(first, draft.events, (LEASE_CREATE,), caller)
        else:
            first = change.unconfirmed(task.marked(draft), now + CONFIRM_WITHIN, new_id)
            lease = self._reserve(first, draft.events, (), caller)
        if not _is_of_this_call(lease, first):
            return self._created_before(draft, caller)
        if task is not None:
            lease = self._make_and_confirm(lease, task, draft.events, caller, settings)
        self._nudge()
        return lease

    # draft

    def _draft(self, command: CreateLease, caller: Caller, now: datetime, settings: LeaseSettings) -> Lease:
        """Return the lease as it was asked for, checked, with nothing allocated yet."""
        if caller.project_id is None:
            raise InvalidInput("A lease belongs to a project: ask with a project-scoped token.")
        minute = floor_minute(now)
        interval = change.check_new_interval(
            moment_of(command.start, minute), moment_of(command.end, minute), minute
        )
        lease_id = command.id or new_id()
        before_end = (
            change.check_before_end(floor_minute(command.before_end), interval)
            if command.before_end is not None
            else change.default_before_end(interval, settings.notification)
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
            parameters=kind.encode(kind.parse(request.parameters)),
        )

    # reserve

    def _reserve(
        self, lease: Lease, events: tuple[Event, ...], notifications: tuple[str, ...], caller: Caller
    ) -> Lease:
        """Plan and insert the lease, if usage filters allow it. Return it as stored, or the lease that has
        its id already. ``events`` are those that it has when it is confirmed."""
        check = self._enforcement.of_request(caller)

        def attempt() -> Lease:
            try:
                plan = self._admission.plan(lease.reservations, lease.interval, caller)
                planned = with_allocations(lease, plan)
                check.check(None, replace(planned, events=events))
                return self._store.commit(
                    LeaseChange(None, planned, plan.generations, notifications=notifications), caller
                )
            except (NotEnoughResources, UsageRefused, Stale):
                # The id is taken, or what is short or too much is what the lease has already: only where the
                # request was made before.
                existing = self._store.find(lease.id)
                if existing is None:
                    raise
                return existing

        return self._admission.until_committed(attempt, caller.deadline)

    def _created_before(self, draft: Lease, caller: Caller) -> Lease:
        """Wait for the lease that the same request is creating, or has created. Raises TooLate,
        CloudUnavailable, NotFound."""
        deadline = caller.deadline or self._clock.now() + CONFIRM_WITHIN
        for _ in until(deadline, self._clock, LEASE_PAUSES):
            lease = self._store.load(draft.id)
            if (lease.user_id, lease.project_id) != (draft.user_id, draft.project_id):
                raise not_found(draft.id)
            if lease.status is LeaseStatus.DELETING:
                break  # the first attempt gave up: what it has reserved is being released
            if lease.status is not LeaseStatus.CREATING:
                return lease
        raise TooLate()

    # make and confirm

    def _make_and_confirm(
        self,
        creating: Lease,
        task: Task,
        events: tuple[Event, ...],
        caller: Caller,
        settings: LeaseSettings,
    ) -> Lease:
        """Make what the lease needs in the cloud, then confirm it.

        The lease is reserved before anything is made. So wherever this process dies, the engine finds a lease
        that was not confirmed in time, and releases it with all that was made for it."""
        try:
            ready = self._preparation.make(creating, task, caller)
        except BlazarError:
            self._abandon(creating, caller, settings)
            raise
        confirmation = LeaseChange(creating, change.confirmed(ready, events), notifications=(LEASE_CREATE,))
        try:
            return self._admission.commit_once(
                lambda: self._store.commit(confirmation, caller), caller.deadline
            )
        except OutcomeUnknown:
            # The lease may be confirmed, and what was made for it in use. Where it is not, the engine
            # releases it.
            raise
        except BlazarError as failure:
            stored = self._store.find(creating.id)
            if stored is not None and stored.status not in (LeaseStatus.CREATING, LeaseStatus.DELETING):
                return stored  # confirmed by the commit whose outcome was not known at first
            self._preparation.discard(ready, stored or creating)
            self._abandon(creating, caller, settings)
            if isinstance(failure, Stale):
                raise CloudUnavailable(service="The cloud", reason=MADE_TOO_SLOWLY) from None
            raise

    def _abandon(self, creating: Lease, caller: Caller, settings: LeaseSettings) -> None:
        """Have the engine release everything and remove the lease, and wait a while for it."""

        def attempt() -> None:
            old = self._store.find(creating.id)
            if old is not None and old.status is LeaseStatus.CREATING:
                marked = change.marked_for_deletion(old, self._clock.now(), new_id)
                self._store.commit(LeaseChange(old, marked))

        self._admission.until_committed(attempt)
        self._nudge()
        self._deletion.wait(creating.id, caller, settings)


def _is_of_this_call(stored: Lease, draft: Lease) -> bool:
    """Return whether this call stored the lease, perhaps by a commit whose outcome was not known at first.
    Another call with the same lease id makes events with other ids."""
    return {event.id for event in draft.events} <= {event.id for event in stored.events}
