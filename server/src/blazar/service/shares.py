"""Shares of leases: which projects may see, use or change the leases of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from blazar.domain.errors import Busy, InvalidInput, LeaseShareNotFound, Stale, TooManyLeaseShares
from blazar.domain.lease.change import with_changed_users
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.share import MOST_SHARES, USER_ID, LeaseShare, ShareRight
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.leases.store import not_found
from blazar.service.leases.take_over import require_free
from blazar.service.notifications import LEASE_SHARED, LEASE_UNSHARED, payload_of_share
from blazar.service.ports import Clock, Database, LeasePage, LeaseQuery, Nudge, UnitOfWork
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
    nor what its project has in use. Only where another project may use the lease, or no longer, the lease
    changes, for the cloud has to."""

    def __init__(
        self, database: Database, kinds: Kinds, clock: Clock, nudge: Nudge = lambda due=None: None
    ) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._nudge = nudge

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
                stored = self._database.transact(lambda uow: self._put(uow, asked, caller))
                self._nudge(self._clock.now())
                return stored
        raise Busy()

    def _put(self, uow: UnitOfWork, asked: LeaseShare, caller: Caller) -> LeaseShare:
        lease = _lease(uow, asked.lease_id)
        if asked.project_id == lease.project_id:
            raise InvalidInput("The lease is this project's own.")
        # Two that share a lease at once would not see each other's share.
        uow.shares.queue_up(lease.project_id)
        shares, right = uow.shares.of_lease(lease.id), asked.right
        before = next((each for each in shares if each.project_id == asked.project_id), None)
        if before is not None and before.right is right:
            return before
        if before is None and len(shares) >= MOST_SHARES:
            raise TooManyLeaseShares(most=MOST_SHARES)
        if right is ShareRight.TAKE_OVER:
            require_free(lease, self._kinds)
        if right.may_use:
            self._require_usable(lease, asked.project_id)
        if right.may_use is not (before is not None and before.right.may_use):
            self._change_users(uow, lease)
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

    def _require_usable(self, lease: Lease, project_id: str) -> None:
        """Raises InvalidInput where no other project, or not this one, can be let use the lease."""
        kinds = (self._kinds.get(each.resource_type) for each in lease.reservations)
        if not any(kind is not None and kind.takes_other_users for kind in kinds):
            raise InvalidInput("The lease has nothing that servers of another project can be put onto.")
        if not USER_ID.fullmatch(project_id):
            raise InvalidInput("A project that may use a lease has an id of letters, digits and dashes.")

    def _change_users(self, uow: UnitOfWork, lease: Lease) -> None:
        """Have the cloud brought to who may use the lease now. Raises Busy, and Stale where the lease was
        changed since it was read."""
        if lease.status is LeaseStatus.TERMINATED:
            return
        if lease.status is LeaseStatus.CREATING or not lease.is_understood:
            raise Busy()
        now = self._clock.now()
        uow.leases.save(with_changed_users(lease, now, new_id), lease, now)

    def delete(self, lease_id: str, project_id: str, caller: Caller) -> None:
        gone = LeaseShareNotFound(lease=lease_id, project=project_id)

        def work(uow: UnitOfWork) -> None:
            lease = uow.leases.get(lease_id)
            if lease is None:
                raise gone
            # A right to use that is given meanwhile would be taken away unseen, and the cloud not told.
            uow.shares.queue_up(lease.project_id)
            shares = uow.shares.of_lease(lease_id)
            share = next((each for each in shares if each.project_id == project_id), None)
            if share is None:
                raise gone
            uow.shares.remove(lease_id, project_id)
            if share.right.may_use:
                self._change_users(uow, lease)
            now = self._clock.now()
            told = replace(share, user_id=caller.user_id)
            uow.outbox.put(LEASE_UNSHARED, payload_of_share(lease, told, self._kinds), now)

        for _ in range(ATTEMPTS):
            # Stale: the lease was changed after it was read, or removed, and the share with it.
            with suppress(Stale):
                self._database.transact(work)
                self._nudge(self._clock.now())
                return
        raise Busy()


def _lease(uow: UnitOfWork, lease_id: str) -> Lease:
    lease = uow.leases.get(lease_id)
    if lease is None:
        raise not_found(lease_id)
    return lease
