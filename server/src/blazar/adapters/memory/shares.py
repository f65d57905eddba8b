"""Shares of leases in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import State
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.share import LeaseShare, ShareRight


class MemoryShares:
    """The ShareRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def queue_up(self, project_id: str) -> None:
        """Do nothing: there is one writer at a time."""

    def of_lease(self, lease_id: str) -> Sequence[LeaseShare]:
        return self._state.shares.get(lease_id, ())

    def of_leases(self, lease_ids: Sequence[str]) -> Sequence[LeaseShare]:
        return [share for lease_id in sorted(lease_ids) for share in self.of_lease(lease_id)]

    def rights(self, lease_ids: Sequence[str], project_id: str) -> Mapping[str, ShareRight]:
        return {
            each.lease_id: each.right
            for lease_id in lease_ids
            for each in self.of_lease(lease_id)
            if each.project_id == project_id
        }

    def add(self, share: LeaseShare, lease: Lease, now: datetime) -> LeaseShare:
        others = self.of_lease(lease.id)
        if lease.id not in self._state.leases or share.project_id in {each.project_id for each in others}:
            raise Stale()
        return self._put(others, replace(share, created_at=now, updated_at=None))

    def save(self, share: LeaseShare, now: datetime) -> LeaseShare:
        return self._put(self._without(share.lease_id, share.project_id), replace(share, updated_at=now))

    def remove(self, lease_id: str, project_id: str) -> None:
        self._state.shares[lease_id] = self._without(lease_id, project_id)

    def _put(self, others: Sequence[LeaseShare], share: LeaseShare) -> LeaseShare:
        in_order = sorted((*others, share), key=lambda each: each.project_id)
        self._state.shares[share.lease_id] = tuple(in_order)
        return share

    def _without(self, lease_id: str, project_id: str) -> tuple[LeaseShare, ...]:
        found = self.of_lease(lease_id)
        others = tuple(each for each in found if each.project_id != project_id)
        if len(others) == len(found):
            raise Stale()
        return others
