"""The expiry of offers: what they held is free, and filters are told.

An offer ends once: a claim and a removal compare and set the same row. So nothing is given twice, whosever
clock says that it has expired. The first that comes upon it removes it: a plan, which has to know what is
free, or the lane of a manager that looks for such offers."""

from __future__ import annotations

import logging

from blazar.domain.errors import BlazarError, Stale
from blazar.domain.lease.offer import Offer
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar.service.usage_reports import NO_REPORTS, UsageReports

LOG = logging.getLogger(__name__)
AT_ONCE = 20
"""Offers that are removed at once, each in a transaction of its own: a plan waits for no more of them."""


class OfferExpiry:
    """Removes the offers that have expired."""

    def __init__(self, database: Database, clock: Clock, reports: UsageReports = NO_REPORTS) -> None:
        self._database = database
        self._clock = clock
        self._reports = reports

    def remove_some(self) -> int:
        """Remove some offers that have expired, the first ones first. Return how many were removed. What one
        of them holds stays taken where it cannot be removed now."""
        now = self._clock.now()
        with self._database.read() as uow:
            overdue = uow.offers.overdue(now, AT_ONCE)
        removed = 0
        for offer in overdue:
            try:
                self.remove(offer)
                removed += 1
            except Stale:
                continue  # claimed, or removed by another
            except BlazarError as failure:
                LOG.warning("Offer %s has expired and is removed later: %s", offer.id, failure)
        return removed

    def remove(self, offer: Offer) -> None:
        """Remove the offer, expired or not. Raises Stale where it is not there any more."""
        now, resource_ids = self._clock.now(), offer.lease.resource_ids

        def work(uow: UnitOfWork) -> None:
            uow.offers.remove(offer.id)
            uow.resources.touch(resource_ids, now, [offer.id])
            self._reports.put(uow, offer.lease, None, now)

        self._database.transact(work)
