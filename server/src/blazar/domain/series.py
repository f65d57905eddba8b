"""The series: the leases that one request has made by a rule, one for each occurrence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

from blazar.domain.time import Interval


class OnConflict(StrEnum):
    """What becomes of a series of which not all occurrences can be had."""

    REFUSE = "refuse"
    """Nothing is made."""
    SKIP = "skip"
    """Those are made that can be had."""


@dataclass(frozen=True, slots=True)
class SeriesOccurrence:
    """An occurrence of a series, as it was asked for."""

    day: date
    """The day of its start in the zone of the series."""
    interval: Interval
    lease_id: str | None = None
    """Its lease, which may have been changed or deleted since; None where it was skipped."""
    reason: str | None = None
    """Why it was skipped."""


@dataclass(frozen=True, slots=True)
class SeriesReservation:
    """A reservation of each lease; ``parameters`` are the kind's own fields as the caller sent them."""

    resource_type: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeriesRequest:
    """What each lease of a series was asked to be, so that one that is missing can be made later."""

    reservations: tuple[SeriesReservation, ...]
    priority: str
    """The class of the leases."""
    claim_by: timedelta | None = None
    """How soon after its start each has to be used; None for never."""


@dataclass(frozen=True, slots=True)
class Series:
    """Leases that recur. ``revision`` grows with every commit that changes it."""

    id: str
    name: str
    user_id: str
    project_id: str
    rule: str
    """As RFC 5545 writes it."""
    time_zone: str
    on_conflict: OnConflict
    occurrences: tuple[SeriesOccurrence, ...]
    """In order."""
    exceptions: tuple[date, ...] = ()
    """The days that are left out, in order."""
    revision: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def ends_at(self) -> datetime:
        """Return when its last occurrence ends."""
        return self.occurrences[-1].interval.end

    @property
    def lease_ids(self) -> tuple[str, ...]:
        return tuple(each.lease_id for each in self.occurrences if each.lease_id is not None)
