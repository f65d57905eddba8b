"""The deletion of a lease: at once where it has nothing in the cloud, else by the engine."""

from __future__ import annotations

from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.admission import Admission
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.leases.precondition import Precondition
from blazar.service.leases.settings import LeaseSettings
from blazar.service.leases.store import LeaseChange, LeaseStore
from blazar.service.notifications import LEASE_DELETE, LEASE_WAIT_CANCELLED
from blazar.service.ports import Clock, Nudge

REMOVED_AT_ONCE = frozenset({LeaseStatus.WAITING, LeaseStatus.PENDING, LeaseStatus.TERMINATED})
"""The statuses of leases of which no event is under way."""


class LeaseDeletion:
    """The story of a deletion."""

    def __init__(self, store: LeaseStore, admission: Admission, clock: Clock, nudge: Nudge) -> None:
        self._store = store
        self._admission = admission
        self._clock = clock
        self._nudge = nudge

    def delete(self, lease_id: str, caller: Caller, settings: LeaseSettings, expected: Precondition) -> None:
        """Remove the lease, or mark it for deletion and wait a while for the engine to remove it."""
        if not self.begin(lease_id, caller, expected):
            self.wait(lease_id, caller, settings)

    def begin(self, lease_id: str, caller: Caller, expected: Precondition) -> bool:
        """Remove the lease, or mark it for deletion. Return whether it is removed."""

        def attempt() -> bool:
            old = self._store.load(lease_id)
            change.require_understood(old)
            if old.status is LeaseStatus.DELETING:
                return False
            expected.require(old)
            is_removed = _can_be_removed(old)
            self._store.commit(_removal(old) if is_removed else self._mark(old), caller)
            return is_removed

        is_removed = self._admission.until_committed(attempt, caller.deadline)
        if not is_removed:
            self._nudge()
        return is_removed

    def wait(self, lease_id: str, caller: Caller, settings: LeaseSettings) -> None:
        """Wait until the lease is removed: as long as the operator says, and no longer than the caller
        waits."""
        deadline = self._clock.now() + settings.delete_wait
        self._store.wait_until_gone(lease_id, min(deadline, caller.deadline or deadline))

    def _mark(self, old: Lease) -> LeaseChange:
        return LeaseChange(old, change.marked_for_deletion(old, self._clock.now(), new_id))


def _can_be_removed(lease: Lease) -> bool:
    """Return whether the lease has nothing in the cloud, and no event is under way."""
    is_in_cloud = lease.trust_id is not None or any(r.cloud_state for r in lease.reservations)
    is_in_cloud = is_in_cloud or bool(lease.leaving)
    return lease.status in REMOVED_AT_ONCE and not is_in_cloud


def _removal(old: Lease) -> LeaseChange:
    told = LEASE_WAIT_CANCELLED if old.status is LeaseStatus.WAITING else LEASE_DELETE
    return LeaseChange(old, None, given_back=old.resource_ids, notifications=(told,))
