"""The store of the stories of offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from blazar.domain.errors import OfferNotFound, QuotaExceeded
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.offer import Offer
from blazar.service.context import Caller
from blazar.service.leases.late_binding import RoomMade
from blazar.service.notifications import LEASE_CREATE, LEASE_OFFERED, payload, tell_planned_elsewhere
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.quotas import Quotas
from blazar.service.usage_reports import UsageReports

OFFERS = "offers"
"""The name under which a refusal tells the limit of offers that are held at once."""


class OfferStore:
    """The database, as the stories of offers use it. A project may have ``most`` offers at once."""

    def __init__(
        self,
        database: Database,
        kinds: Kinds,
        clock: Clock,
        quotas: Quotas,
        reports: UsageReports,
        most: int,
    ) -> None:
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._quotas = quotas
        self._reports = reports
        self._most = most

    def find(self, offer_id: str) -> Offer | None:
        """Return the offer; None where it is not there, or has expired."""
        with self._database.read() as uow:
            offer = uow.offers.get(offer_id)
        return None if offer is None or offer.is_over(self._clock.now()) else offer

    def load(self, offer_id: str) -> Offer:
        """Return the offer. Raises OfferNotFound."""
        offer = self.find(offer_id)
        if offer is None:
            raise OfferNotFound(offer=offer_id)
        return offer

    def of_project(self, project_id: str) -> Sequence[Offer]:
        with self._database.read() as uow:
            return uow.offers.of_project(project_id, self._clock.now())

    def hold(
        self, offer: Offer, generations: Mapping[str, int], caller: Caller, room: RoomMade | None = None
    ) -> Offer:
        """Commit the offer, with the ``room`` that is made for it. Return it as stored.

        Raises Stale where a resource has changed since it was planned, or there is such an offer or lease,
        QuotaExceeded where the project would have too many offers, or more than a lease of its may have."""
        counted = self._quotas.counted(None, offer.lease)
        asked = self._quotas.asked_for(None, counted, caller)
        now = self._clock.now()

        def work(uow: UnitOfWork) -> Offer:
            # The others of the project wait from here on, so that no two of them count the same offers.
            self._quotas.admit(uow, None, counted, now, asked)
            held = uow.offers.count(counted.project_id, now)
            if held >= self._most:
                raise QuotaExceeded(OFFERS, self._most, held, 1)
            changed = [counted.id, *(old.id for _, old in (room.replanned if room else ()))]
            uow.resources.touch(room.given_back if room else (), now, changed)
            uow.resources.bump(generations, now, changed)
            stored = uow.offers.add(replace(offer, lease=counted), now)
            uow.outbox.put(LEASE_OFFERED, payload(stored.lease, self._kinds), now)
            if room and room.replanned:
                uow.leases.save_all(room.replanned, now)
                tell_planned_elsewhere(uow, self._kinds, [new for new, _ in room.replanned], now)
            caller.require_time(self._clock.now())
            return stored

        return self._database.transact(work)

    def claim(self, offer: Offer, lease: Lease, caller: Caller) -> Lease:
        """Commit the lease that the offer becomes. Return it as stored. Raises Stale where the offer is not
        there any more; nothing else stands against it, for what it takes is held already."""
        now = self._clock.now()

        def work(uow: UnitOfWork) -> Lease:
            stored = uow.offers.claim(offer, lease, now)
            self._reports.put(uow, None, stored, now)
            if stored.status is not LeaseStatus.CREATING:
                uow.outbox.put(LEASE_CREATE, payload(stored, self._kinds), now)
            caller.require_time(self._clock.now())
            return stored

        return self._database.transact(work)
