"""A look at a lease that has to be used: is it, and where it is not, can a user begin to use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.lease.event import EventType
from blazar.domain.lease.unclaimed import Finding, Use
from blazar.service.ports import Cloud
from blazar.service.ports.kind import Kind, Work


@dataclass(frozen=True, slots=True)
class Watched:
    """A reservation that has to be used."""

    kind: Kind[Any]
    work: Work

    def is_used(self, cloud: Cloud) -> bool:
        """Return whether it is used. One with less than was promised counts as used."""
        reservation = self.work.reservation
        return reservation.missing_resources or self.kind.is_used(
            self.work, cloud.in_region(reservation.region)
        )

    def close(self, cloud: Cloud) -> bool:
        return self.kind.close(self.work, cloud.in_region(self.work.reservation.region))


def look(event_type: EventType, watched: Sequence[Watched], cloud: Cloud) -> Finding:
    """Ask the cloud whether the reservations are used. But for the warning, those that are not are closed, or
    found to be: as nothing but this closes them, they were so when the cloud was asked.

    Where the cloud does not tell, nothing is known."""
    try:
        return Finding(_use(event_type, watched, cloud))
    except (CloudUnavailable, CloudRefused) as failure:
        return Finding(Use.UNKNOWN, failure.message)


def _use(event_type: EventType, watched: Sequence[Watched], cloud: Cloud) -> Use:
    if any(each.is_used(cloud) for each in watched):
        return Use.USED
    if event_type is EventType.WARN_UNCLAIMED:
        return Use.UNUSED
    were_open = [each.close(cloud) for each in watched]
    return Use.OPEN if any(were_open) else Use.UNUSED
