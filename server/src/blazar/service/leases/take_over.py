"""The taking over of a lease by another project, which the project that has it has offered by a share."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from blazar.domain.errors import Busy, InvalidInput, InvalidStatus, NotAuthorized, Stale
from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.share import ShareRight
from blazar.service.admission import Admission
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.leases.store import LeaseChange, LeaseStore
from blazar.service.notifications import LEASE_TAKEN_OVER
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation


class LeaseTakeover:
    """The story of a lease that changes hands. It keeps its id, its dates and what it has been given."""

    def __init__(
        self,
        database: Database,
        store: LeaseStore,
        admission: Admission,
        preparation: Preparation,
        enforcement: Enforcement,
        kinds: Kinds,
        clock: Clock,
    ) -> None:
        self._database = database
        self._store = store
        self._admission = admission
        self._preparation = preparation
        self._enforcement = enforcement
        self._kinds = kinds
        self._clock = clock

    def take_over(self, lease_id: str, caller: Caller) -> Lease:
        """Return the lease as the caller's, or as it is where the caller's project has it already.

        The project is asked all that it would be for a new lease: its quotas, the usage filters, and whether
        the caller may have what is reserved. Raises NotAuthorized where the lease is not offered."""
        check = self._enforcement.of_request(caller)

        def attempt() -> Lease:
            caller.require_time(self._clock.now())
            old = self._store.load(lease_id)
            project_id = caller.project_id
            if project_id is None or old.project_id == project_id:
                return old
            self._require_offer(lease_id, project_id)
            require_free(old, self._kinds)
            new = replace(old, user_id=caller.user_id, project_id=project_id)
            self._preparation.complete(None, new, caller)
            check.check(None, new)

            def settled(uow: UnitOfWork, new: Lease, now: datetime) -> Lease:
                if not _is_offered(uow, lease_id, project_id):
                    raise Stale()  # withdrawn meanwhile, or the lease is gone
                uow.shares.remove(lease_id, project_id)
                return new

            decided = LeaseChange(old, new, notifications=(LEASE_TAKEN_OVER,))
            return self._store.commit(decided, caller, settled)

        return self._admission.until_committed(attempt, caller.deadline)

    def _require_offer(self, lease_id: str, project_id: str) -> None:
        with self._database.read() as uow:
            if not _is_offered(uow, lease_id, project_id):
                raise NotAuthorized("The lease is another project's, and not offered to yours.")


def _is_offered(uow: UnitOfWork, lease_id: str, project_id: str) -> bool:
    return uow.shares.rights([lease_id], project_id).get(lease_id) is ShareRight.TAKE_OVER


def require_free(lease: Lease, kinds: Kinds) -> None:
    """Refuse a lease that cannot change hands: one that has begun, and one for which something was made in
    the name of its user. Raises InvalidStatus, InvalidInput, Busy."""
    change.require_understood(lease)
    if lease.status is LeaseStatus.CREATING:
        raise Busy()
    if lease.status is not LeaseStatus.PENDING:
        raise InvalidStatus(reason=f"the lease is {lease.status}; it changes hands before it starts only.")
    if lease.series_id is not None:
        raise InvalidInput("A lease of a series does not change hands.")
    if lease.start_task is not None:
        raise InvalidInput("What starts with the lease belongs to its project.")
    for each in lease.reservations:
        kind = kinds[each.resource_type]
        if kind.acts_for_user(each) or kind.preparing(None, each) is not None:
            raise InvalidInput(f"What the lease reserves of {each.resource_type} belongs to its project.")
