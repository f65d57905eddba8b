"""The means of an operator for a lease whose start has failed."""

from __future__ import annotations

from blazar.domain.errors import NotFound
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.progress import retried
from blazar.service.ports import Clock, Database, UnitOfWork


def retry_lease(database: Database, clock: Clock, lease_id: str) -> Lease:
    """Have a manager try the start of a lease in ERROR again, at once. Raises NotFound, InvalidStatus,
    Stale."""
    now = clock.now()

    def commit(uow: UnitOfWork) -> Lease:
        old = uow.leases.get(lease_id)
        if old is None:
            raise NotFound(object=str({"lease_id": lease_id}))
        new = retried(old, now)
        uow.leases.save(new, old, now)
        return new

    return database.transact(commit)
