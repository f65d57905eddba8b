"""Offers in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import State
from blazar.adapters.stored import added_lease, claimed_lease
from blazar.domain.errors import Stale
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.offer import Offer


class MemoryOffers:
    """The OfferRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, offer_id: str) -> Offer | None:
        return self._state.offers.get(offer_id)

    def of_project(self, project_id: str, now: datetime) -> Sequence[Offer]:
        found = (offer for offer in self._state.offers.values() if offer.lease.project_id == project_id)
        return sorted((offer for offer in found if not offer.is_over(now)), key=lambda offer: offer.lease.key)

    def count(self, project_id: str, now: datetime) -> int:
        return len(self.of_project(project_id, now))

    def add(self, offer: Offer, now: datetime) -> Offer:
        if self._state.knows(offer.id):
            raise Stale()
        stored = replace(offer, lease=added_lease(offer.lease, now))
        self._state.offers[offer.id] = stored
        return stored

    def claim(self, offer: Offer, lease: Lease, now: datetime) -> Lease:
        current = self._state.offers.get(offer.id)
        if current is None or current.lease.revision != offer.lease.revision:
            raise Stale()
        del self._state.offers[offer.id]
        stored = self._state.leases[offer.id] = claimed_lease(lease, current.lease, now)
        return stored

    def remove(self, offer_id: str) -> None:
        if self._state.offers.pop(offer_id, None) is None:
            raise Stale()

    def first_expiry(self) -> datetime | None:
        return min((offer.expires_at for offer in self._state.offers.values()), default=None)

    def overdue(self, now: datetime, limit: int) -> Sequence[Offer]:
        found = (offer for offer in self._state.offers.values() if offer.is_over(now))
        return sorted(found, key=lambda offer: (offer.expires_at, offer.id))[:limit]
