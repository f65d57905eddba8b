"""The expiry of offers: what they held is free, and filters are told.

An offer ends once: a claim and a removal compare and set the same row. So nothing is given twice, whosever
clock says that it has expired. The first that comes upon it removes it: a plan, which has to know what is
free, or the lane of a manager that looks for such offers."""

from __future__ import annotations

from contextlib import suppress

from blazar.domain.errors import Stale
from blazar.domain.lease.offer import Offer
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar.service.usage_reports import NO_REPORTS, UsageReports

AT_ONCE = 20
"""Offers that are read at once; each is removed in a transaction of its own."""


class OfferExpiry:
    """Removes the offers that have expired."""

    def __init__(self, database: Database, clock: Clock, reports: UsageReports = NO_REPORTS) -> None:
        self._database = database
        self._clock = clock
        self._reports = reports

    def remove_some(self) -> int:
        """Remove some offers that have expired. Return how many were found: none, where none is left."""
        now = self._clock.now()
        with self._database.read() as uow:
            overdue = uow.offers.overdue(now, AT_ONCE)
        for offer in overdue:
            with suppress(Stale):  # claimed, or removed by another
                self.remove(offer)
        return len(overdue)

    def remove_all(self) -> None:
        """Remove all offers that have expired."""
        while self.remove_some():
            pass

    def remove(self, offer: Offer) -> None:
        """Remove the offer, expired or not. Raises Stale where it is not there any more."""
        now, resource_ids = self._clock.now(), offer.lease.resource_ids

        def work(uow: UnitOfWork) -> None:
            uow.offers.remove(offer.id)
            uow.resources.touch(resource_ids, now)
            self._reports.put(uow, offer.lease, None, now)

        self._database.transact(work)
