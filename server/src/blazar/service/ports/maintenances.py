"""The port to the maintenances that the database keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from blazar.domain.lease.maintenance import Maintenance, Purpose


class MaintenanceRepository(Protocol):
    """Maintenances with their allocations, and what bounds the lifetimes of resources.

    No method of LeaseRepository knows a maintenance, but ``exists``. Its allocations are in each occupancy
    and among the allocations, as those of a lease, until it is removed. They count as the use of no
    project."""

    def get(self, maintenance_id: str) -> Maintenance | None: ...

    def list(self) -> Sequence[Maintenance]:
        """Return all of them, by start and id."""
        ...

    def lifetimes(self, resource_ids: Sequence[str]) -> Sequence[Maintenance]:
        """Return those that bound the lifetimes of these resources, in the order of their ids."""
        ...

    def count(self, purpose: Purpose | None = None) -> int:
        """Return how many there are: of one purpose, or of any."""
        ...

    def add(self, maintenance: Maintenance, now: datetime) -> Maintenance:
        """Insert the maintenance. Return it as stored: created_at is ``now``, the allocations in the order of
        resources.

        Raises Stale where there is a maintenance, a lease or an offer with this id."""
        ...

    def remove(self, maintenance_id: str) -> None:
        """Delete it with its allocations. Raises Stale where it is not there any more."""
        ...

    def over(self, now: datetime) -> Sequence[Maintenance]:
        """Return those whose end has come, those first that ended first."""
        ...
