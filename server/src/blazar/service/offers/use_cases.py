"""The use cases of offers in this process, as OffersInterface names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from blazar.domain.errors import OfferNotFound, Stale
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.offer import Offer
from blazar.service.commands import ByDuration, ClaimByWish, ClaimOffer, CreateLease
from blazar.service.context import Caller
from blazar.service.leases.settings import LeaseSettings
from blazar.service.offer_expiry import OfferExpiry
from blazar.service.offers.claim import OfferClaim
from blazar.service.offers.hold import OfferCreation
from blazar.service.offers.store import OfferStore


class Offers:
    """The use cases of offers. ``settings`` returns those of leases, as they are now."""

    def __init__(
        self,
        store: OfferStore,
        creation: OfferCreation,
        claim: OfferClaim,
        expiry: OfferExpiry,
        settings: Callable[[], LeaseSettings],
    ) -> None:
        self._store = store
        self._creation = creation
        self._claim = claim
        self._expiry = expiry
        self._settings = settings

    def create(
        self,
        command: CreateLease,
        hold: timedelta | None,
        caller: Caller,
        by_duration: ByDuration | None = None,
    ) -> Offer:
        return self._creation.create(command, hold, caller, self._settings(), by_duration)

    def get(self, offer_id: str) -> Offer:
        return self._store.load(offer_id)

    def list(self, project_id: str) -> Sequence[Offer]:
        return self._store.of_project(project_id)

    def claim(
        self, offer_id: str, command: ClaimOffer, caller: Caller, claim_by: ClaimByWish | None = None
    ) -> Lease:
        return self._claim.claim(offer_id, command, caller, self._settings(), claim_by)

    def delete(self, offer_id: str, caller: Caller) -> None:
        """Give back what the offer holds. Raises OfferNotFound."""
        try:
            self._expiry.remove(self._store.load(offer_id))
        except Stale:
            raise OfferNotFound(offer=offer_id) from None
