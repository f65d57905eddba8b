"""The confirmation of a lease that is reserved already, and that needs something in the cloud before it is
shown."""

from __future__ import annotations

from datetime import timedelta

from blazar.domain.errors import BlazarError, CloudUnavailable, OutcomeUnknown, Stale, TooLate
from blazar.domain.lease import change
from blazar.domain.lease.event import Event, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.admission import Admission
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.leases.delete import LeaseDeletion
from blazar.service.leases.settings import LeaseSettings
from blazar.service.leases.store import LeaseChange, LeaseStore, not_found
from blazar.service.notifications import LEASE_CREATE
from blazar.service.polling import LEASE_PAUSES, until
from blazar.service.ports import Clock, Nudge
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation, Task
from blazar.service.start_requests import NewStart, StartRequests

CONFIRM_WITHIN = timedelta(seconds=60)
"""How long a creation may take in the cloud. After this its caller has given up, and the engine removes the
lease."""
MADE_TOO_SLOWLY = "it took too long to make what the lease needs, or it was deleted meanwhile."


class LeaseConfirmation:
    """The second half of a creation, or of a claim."""

    def __init__(
        self,
        store: LeaseStore,
        admission: Admission,
        preparation: Preparation,
        deletion: LeaseDeletion,
        kinds: Kinds,
        clock: Clock,
        nudge: Nudge,
        starts: StartRequests,
    ) -> None:
        self._starts = starts
        self._store = store
        self._admission = admission
        self._preparation = preparation
        self._deletion = deletion
        self._kinds = kinds
        self._clock = clock
        self._nudge = nudge

    def created_before(self, lease_id: str, caller: Caller) -> Lease:
        """Wait for the lease that the same request is creating, or has created. Raises TooLate,
        CloudUnavailable, NotFound."""
        deadline = caller.deadline or self._clock.now() + CONFIRM_WITHIN
        for _ in until(deadline, self._clock, LEASE_PAUSES):
            lease = self._store.find(lease_id)
            if lease is None:
                break  # the first attempt gave up, or the lease was deleted since
            if (lease.user_id, lease.project_id) != (caller.user_id, caller.project_id):
                raise not_found(lease_id)
            if lease.status is LeaseStatus.DELETING:
                break  # what it has reserved is being released
            if lease.status is not LeaseStatus.CREATING:
                return lease
        raise TooLate()

    def make_and_confirm(
        self,
        creating: Lease,
        task: Task,
        events: tuple[Event, ...],
        caller: Caller,
        settings: LeaseSettings,
        start: NewStart | None = None,
    ) -> Lease:
        """Make what the lease needs in the cloud, then confirm it. ``start`` is started with it.

        The lease is reserved before anything is made. So wherever this process dies, the engine finds a lease
        that was not confirmed in time, and releases it with all that was made for it."""
        try:
            ready = self._preparation.make(creating, task, caller)
            try:
                start = self._starts.trusted(start, creating, caller)
            except BlazarError:
                self._preparation.discard(ready, creating)
                raise
        except BlazarError:
            self._abandon(creating, caller, settings)
            raise
        confirmed = change.confirmed(ready, events)
        if any(self._kinds[r.resource_type].is_made_ready(r) for r in confirmed.reservations):
            confirmed = change.with_work(confirmed, EventType.READY, self._clock.now(), new_id)
        confirmation = LeaseChange(creating, confirmed, notifications=(LEASE_CREATE,), start=start)
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
            self._starts.discard(start)
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
