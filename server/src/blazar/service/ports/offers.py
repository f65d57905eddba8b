"""The port to the offers that the database keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from blazar.domain.lease.lease import Lease
from blazar.domain.lease.offer import Offer


class OfferRepository(Protocol):
    """Offers with the reservations and allocations of their leases.

    No method of LeaseRepository knows an offer, but ``exists``, for a lease and an offer share their id, and
    ``ids_of_other_kinds``. What an offer holds is in each occupancy, among the allocations and in the uses of
    its project, as that of a lease, until the offer is removed."""

    def get(self, offer_id: str) -> Offer | None:
        """Return the offer, expired or not."""
        ...

    def of_project(self, project_id: str, now: datetime) -> Sequence[Offer]:
        """Return the offers of a project that have not expired, oldest first."""
        ...

    def count(self, project_id: str, now: datetime) -> int:
        """Return how many offers of the project have not expired."""
        ...

    def add(self, offer: Offer, now: datetime) -> Offer:
        """Insert the offer, its reservations and its allocations. Return it as stored: created_at is ``now``.

        Raises Stale where there is an offer or a lease with this id."""
        ...

    def claim(self, offer: Offer, lease: Lease, now: datetime) -> Lease:
        """Make the offer, as it was read, the lease. Return this as stored: created_at is ``now``.

        Raises Stale where the offer is not there any more, or was changed."""
        ...

    def remove(self, offer_id: str) -> None:
        """Delete the offer with all that belongs to it. Raises Stale where it is not there any more."""
        ...

    def first_expiry(self) -> datetime | None:
        """Return when the first of all offers expires, or has expired."""
        ...

    def overdue(self, now: datetime, limit: int) -> Sequence[Offer]:
        """Return offers that have expired, those first that did so first."""
        ...
