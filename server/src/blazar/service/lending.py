"""The look at what active reservations lend to preemptible servers of others, and take back.

The cloud has which reservations lend: one request tells it where none does. What a lease becomes between its
reading and the look changes nothing that the next look does not put right: the filter lets servers onto what
is lent only while the cloud has its reservation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports.kind import Dependencies, LendingLook, Lent, Work
from blazar.service.works import active_works, are_enabled

LOG = logging.getLogger(__name__)
AT_ONCE = 50
"""Leases that are read together."""
MOST_FAILURES = 5
"""Reservations that may fail one after another; then the look at this region ends."""


class Lending:
    """Looks at all reservations that lend. It is used by one thread."""

    def __init__(self, dependencies: Dependencies, metrics: Metrics = NO_METRICS) -> None:
        self._database = dependencies.database
        self._cloud = dependencies.cloud
        self._kinds = dependencies.kinds
        self._clock = dependencies.clock
        self._metrics = metrics
        self._failing: set[str | None] = set()
        """The regions whose failure is told already."""

    def look(self, check: Callable[[], None]) -> Lent:
        """Look once, and return what has come of it. ``check`` is called before each request to the cloud,
        and raises to end the look. A region that fails is left until the next look, which is told once."""
        cloud, found = self._cloud.fenced(check), Lent()
        for region in (None, *cloud.regions[1:]):
            try:
                for kind in self._kinds.values():
                    if (look := kind.lending(cloud.in_region(region))) is not None:
                        found += self._look(look)
                self._failing.discard(region)
            except (CloudUnavailable, CloudRefused) as failure:
                if region not in self._failing:
                    LOG.warning("It is not known what reservations could lend: %s", failure.message)
                self._failing.add(region)
        self._metrics.hosts_lent(found.units, found.taken_back, found.leaving)
        return found

    def _look(self, look: LendingLook) -> Lent:
        """Look at the reservations of one kind in one region."""
        found, failures, over = Lent(), 0, set(look.lenders)
        ids = sorted(set(look.lenders.values()))
        for first in range(0, len(ids), AT_ONCE):
            leases = self._leases(ids[first : first + AT_ONCE])
            over -= {
                each.id
                for lease in leases
                if lease.status is not LeaseStatus.TERMINATED
                for each in lease.reservations
            }
            for work in self._works(leases, look.lenders):
                try:
                    found += look.lend(work)
                    failures = 0
                except (CloudUnavailable, CloudRefused) as failure:
                    failures += 1
                    if failures == MOST_FAILURES:
                        raise
                    LOG.warning(
                        "What reservation %s lends is looked at later: %s",
                        work.reservation.id,
                        failure.message,
                    )
        look.finish(over)
        return found

    def _leases(self, ids: Sequence[str]) -> Sequence[Lease]:
        with self._database.read() as uow:
            return uow.leases.get_many(ids)

    def _works(self, leases: Sequence[Lease], lenders: Mapping[str, str]) -> Sequence[Work]:
        """Return the work of each active reservation among the lenders."""
        active = [
            each
            for each in leases
            if each.status is LeaseStatus.ACTIVE and each.is_understood and are_enabled(each, self._kinds)
        ]
        with self._database.read() as uow:
            works = active_works(uow, self._database, self._kinds, active)
        now = self._clock.now()
        return [
            replace(work, now=now)
            for of_lease in works.values()
            for _, work in of_lease
            if work.reservation.id in lenders
        ]
