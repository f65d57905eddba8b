"""Shares of leases: which projects may see, or change, the leases of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from blazar.domain.errors import Busy, InvalidInput, LeaseShareNotFound, Stale, TooManyLeaseShares
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.share import MOST_SHARES, LeaseShare, ShareRight
from blazar.service.context import Caller
from blazar.service.leases.store import not_found
from blazar.service.notifications import LEASE_SHARED, LEASE_UNSHARED, payload_of_share
from blazar.service.ports import Clock, Database, LeasePage, LeaseQuery, UnitOfWork
from blazar.service.ports.kind import Kinds

ATTEMPTS = 5
"""How often a lease is tried to be shared while other requests change its shares."""


@dataclass(frozen=True, slots=True)
class SharedLeases:
    """A page of leases that are shared with a project, and what it may do with each, by the lease's id."""

    page: LeasePage
    rights: Mapping[str, ShareRight]


class Shares:
    """The use cases of shares. A share is no part of its lease: neither the revision of the lease changes,
    nor what its project has in use."""

    def __init__(self, database: Database, kinds: Kinds, clock: Clock) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = clock

    def get_right(self, lease_id: str, project_id: str) -> ShareRight | None:
        with self._database.read() as uow:
            return uow.shares.rights([lease_id], project_id).get(lease_id)

    def list(self, lease_id: str) -> Sequence[LeaseShare]:
        with self._database.read() as uow:
            return uow.shares.of_lease(lease_id)

    def find_leases(self, query: LeaseQuery, project_id: str) -> SharedLeases:
        with self._database.read() as uow:
            page = uow.leases.find(replace(query, shared_with=project_id))
            rights = uow.shares.rights([each.id for each in page.leases], project_id)
        return SharedLeases(page, rights)

    def put(self, lease_id: str, project_id: str, right: ShareRight, caller: Caller) -> LeaseShare:
        """Raises Busy, and TooLate where the caller has stopped to wait."""
        asked = LeaseShare(lease_id, project_id, right, caller.user_id)
        for _ in range(ATTEMPTS):
            # Stale: the lease was removed after it was read, or the share withdrawn. So all is read again.
            with suppress(Stale):
                return self._database.transact(lambda uow: self._put(uow, asked, caller))
        raise Busy()

    def _put(self, uow: UnitOfWork, asked: LeaseShare, caller: Caller) -> LeaseShare:
        lease = _lease(uow, asked.lease_id)
        if asked.project_id == lease.project_id:
            raise InvalidInput("The lease is this project's own.")
        # Two that share a lease at once would not see each other's share.
        uow.shares.queue_up(lease.project_id)
        shares = uow.shares.of_lease(lease.id)
        before = next((each for each in shares if each.project_id == asked.project_id), None)
        if before is not None and before.right is asked.right:
            return before
        if before is None and len(shares) >= MOST_SHARES:
            raise TooManyLeaseShares(most=MOST_SHARES)
        stored = self._stored(uow, before, asked, lease)
        caller.require_time(self._clock.now())  # as late as possible
        return stored

    def _stored(
        self, uow: UnitOfWork, before: LeaseShare | None, asked: LeaseShare, lease: Lease
    ) -> LeaseShare:
        now = self._clock.now()
        if before is None:
            stored = uow.shares.add(asked, lease, now)
        else:
            stored = uow.shares.save(replace(before, right=asked.right, user_id=asked.user_id), now)
        uow.outbox.put(LEASE_SHARED, payload_of_share(lease, stored, self._kinds), now)
        return stored

    def delete(self, lease_id: str, project_id: str, caller: Caller) -> None:
        gone = LeaseShareNotFound(lease=lease_id, project=project_id)

        def work(uow: UnitOfWork) -> None:
            shares = uow.shares.of_lease(lease_id)
            share = next((each for each in shares if each.project_id == project_id), None)
            lease = uow.leases.get(lease_id)
            if share is None or lease is None:
                raise gone
            uow.shares.remove(lease_id, project_id)
            now = self._clock.now()
            told = replace(share, user_id=caller.user_id)
            uow.outbox.put(LEASE_UNSHARED, payload_of_share(lease, told, self._kinds), now)

        try:
            self._database.transact(work)
        except Stale:  # another request has withdrawn it
            raise gone from None


def _lease(uow: UnitOfWork, lease_id: str) -> Lease:
    lease = uow.leases.get(lease_id)
    if lease is None:
        raise not_found(lease_id)
    return lease
