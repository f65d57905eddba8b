"""Leases for what is found in the cloud itself, without a request to this service."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from blazar.domain.errors import BlazarError, Busy, CloudUnavailable, NotFound, TooLate
from blazar.domain.lease.lease import AHEAD, Lease
from blazar.service.context import Caller
from blazar.service.interface import LeasesInterface
from blazar.service.ports import Clock, Cloud, LeaseQuery
from blazar.service.ports.kind import FoundLease, FoundLeases, LeaseFinder

LOG = logging.getLogger(__name__)
AT_ONCE = 200
"""Leases that are looked up together."""


class Adoption:
    """Makes the leases of one finder, by the rules of any request: quotas, filters and the calendar."""

    def __init__(self, leases: LeasesInterface, finder: LeaseFinder, cloud: Cloud, clock: Clock) -> None:
        self._leases = leases
        self._finder = finder
        self._cloud = cloud
        self._clock = clock

    @property
    def name(self) -> str:
        """Return the name of the duty to look."""
        return self._finder.name

    @property
    def interval(self) -> timedelta:
        """Return the time between two looks."""
        return self._finder.interval

    @property
    def begins(self) -> datetime | None:
        """Return since when the very first look looks; None where nothing counts from before it."""
        return self._finder.begins

    def find(self, since: datetime) -> FoundLeases:
        """Return what has come up since then. Raises CloudUnavailable, CloudRefused."""
        return self._finder.find(self._cloud, since, self._clock.now())

    def make(self, found: FoundLease) -> bool:
        """Make the lease, and answer. Return false where it has to wait for others.

        Raises CloudUnavailable where the answer cannot be given."""
        outcome: Lease | str
        try:
            outcome = self._looked_at(found) if found.is_answered else self._made(found)
        except (Busy, CloudUnavailable, TooLate) as failure:
            LOG.warning("The lease of %s is made later: %s", found.subject, failure.message)
            return False
        except BlazarError as refusal:
            outcome = refusal.message
        self._finder.answer(found, outcome, self._cloud)
        return True

    def close(self, lease_ids: Sequence[str]) -> None:
        """Delete those of the leases that are there and not over: what they are about is gone."""
        for first in range(0, len(lease_ids), AT_ONCE):
            ids = tuple(lease_ids[first : first + AT_ONCE])
            for lease in self._leases.find(LeaseQuery(AT_ONCE, ids=ids, statuses=tuple(AHEAD))).leases:
                try:
                    self._leases.begin_deletion(lease.id, Caller(lease.user_id, lease.project_id))
                except BlazarError as failure:
                    # It is found again for some minutes, and ends all the same.
                    LOG.warning("Lease %s is not deleted: %s", lease.id, failure.message)

    def _looked_at(self, found: FoundLease) -> Lease | str:
        try:
            return self._leases.get(str(found.command.id))
        except NotFound:
            return "its lease is over"

    def _made(self, found: FoundLease) -> Lease:
        """Return the lease, which may have been made before a crash: what it is about is taken then."""
        try:
            return self._leases.get(str(found.command.id))
        except NotFound:
            return self._leases.create(found.command, found.caller, by_duration=found.by_duration)
