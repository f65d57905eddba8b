"""The port of shares: which projects may see or change the leases of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from blazar.domain.lease.lease import Lease
from blazar.domain.lease.share import LeaseShare, ShareRight


class ShareRepository(Protocol):
    """Shares. Those of a lease go with it."""

    def queue_up(self, project_id: str) -> None:
        """Wait for the other transactions that share leases of the project, up to the end of this one."""
        ...

    def of_lease(self, lease_id: str) -> Sequence[LeaseShare]:
        """Return the shares of a lease, in the order of the projects' ids."""
        ...

    def of_leases(self, lease_ids: Sequence[str]) -> Sequence[LeaseShare]:
        """Return the shares of these leases, by lease and project."""
        ...

    def rights(self, lease_ids: Sequence[str], project_id: str) -> Mapping[str, ShareRight]:
        """Return what a project may do with those of these leases that are shared with it."""
        ...

    def add(self, share: LeaseShare, lease: Lease, now: datetime) -> LeaseShare:
        """Insert the share of the lease. Return it as stored: created_at is ``now``. Raises Stale where the
        lease is gone, or is shared with the project already."""
        ...

    def save(self, share: LeaseShare, now: datetime) -> LeaseShare:
        """Write the right and the user of a share that was read. Return it as stored: updated_at is ``now``.
        Raises Stale where it is gone."""
        ...

    def remove(self, lease_id: str, project_id: str) -> None:
        """Raises Stale where it is gone."""
        ...
