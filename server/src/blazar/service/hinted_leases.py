"""Leases that users ask for in the cloud itself, by hints, without a request to this service."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from blazar.domain.errors import BlazarError, Busy, CloudUnavailable, NotFound, TooLate
from blazar.domain.lease.lease import Lease
from blazar.service.interface import LeasesInterface
from blazar.service.ports import Cloud
from blazar.service.ports.kind import HintedLease, Kind, Kinds

LOG = logging.getLogger(__name__)


class HintedLeases:
    """Makes leases by hints, by the rules of any request: quotas, filters and the calendar."""

    def __init__(self, leases: LeasesInterface, kinds: Kinds, cloud: Cloud) -> None:
        self._leases = leases
        self._cloud = cloud
        self._kinds = [kind for kind in kinds.values() if kind.hint_interval is not None]

    @property
    def interval(self) -> timedelta | None:
        """Return the time between two looks; None where no kind looks for hints."""
        return min((kind.hint_interval for kind in self._kinds if kind.hint_interval), default=None)

    def look(self, since: datetime) -> Iterator[bool]:
        """Answer the hints that have come up since then, one at a step. Yield whether it was answered: one
        that has to wait for others is not.

        Raises CloudUnavailable, CloudRefused where the hints cannot be read."""
        for kind in self._kinds:
            for hinted in kind.hinted(self._cloud, since):
                yield self._is_answered(kind, hinted)

    def _is_answered(self, kind: Kind[Any], hinted: HintedLease) -> bool:
        try:
            outcome = self._made(hinted)
        except (Busy, CloudUnavailable, TooLate) as failure:
            LOG.warning("The lease of %s is made later: %s", hinted.subject, failure.message)
            return False
        except BlazarError as refusal:
            kind.answer(hinted, refusal.message, self._cloud)
            return True
        kind.answer(hinted, outcome, self._cloud)
        return True

    def _made(self, hinted: HintedLease) -> Lease:
        """Return the lease, which may have been made before a crash: what it is about is taken then."""
        try:
            return self._leases.get(str(hinted.command.id))
        except NotFound:
            return self._leases.create(hinted.command, hinted.caller, by_duration=hinted.by_duration)
