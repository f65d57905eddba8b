"""The maintenance: resources that operators take away for a time, and what that does to leases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.resource import Allocation
from blazar.domain.time import Interval

Closures = Mapping[str, Sequence[Interval]]
"""By resource: the times in which maintenances take it away."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A time in which nothing new is reserved on some resources.

    Each of its allocations takes the whole of a resource, as one of a lease does; so all that looks at the
    calendar keeps away from the resource without knowing why."""

    id: str
    name: str
    user_id: str
    interval: Interval
    allocations: tuple[Allocation, ...]
    reason: str | None = None
    created_at: datetime | None = None

    @property
    def resource_ids(self) -> tuple[str, ...]:
        """Return the ids of the resources, in the order of the allocations."""
        return tuple(allocation.resource_id for allocation in self.allocations)


def closures(maintenances: Iterable[Maintenance]) -> Closures:
    """Return when each resource is away."""
    found: dict[str, list[Interval]] = {}
    for maintenance in maintenances:
        for resource_id in maintenance.resource_ids:
            found.setdefault(resource_id, []).append(maintenance.interval)
    return found


class Effect(StrEnum):
    """What a maintenance does to a lease."""

    STAYS = "stays"
    """Nothing: it is over before, or is owed nothing any more."""
    MOVES = "moves"
    """All that it has there is served by other resources."""
    BREAKS = "breaks"
    """It loses something."""
    UNKNOWN = "unknown"
    """A word that only a newer version knows."""

    @classmethod
    def _missing_(cls, value: object) -> Effect:
        return cls.UNKNOWN


class EffectReason(StrEnum):
    """Why a lease stays or breaks."""

    ENDS_BEFORE = "ends_before"
    """It is there now, and is over when the maintenance begins."""
    IS_ENDING = "is_ending"
    """It is being ended or deleted, or has failed: it is owed nothing any more."""
    NOTHING_SUITS = "nothing_suits"
    """No other resource suits it and is free."""
    HAS_BEGUN = "has_begun"
    """Its servers would be lost, which only happens by force."""
    NOT_NOW = "not_now"
    """It is an offer, is being made, or starts at this moment: it may be possible in a while."""
    UNKNOWN = "unknown"
    """A reason that only a newer version knows."""

    @classmethod
    def _missing_(cls, value: object) -> EffectReason:
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class Move:
    """A reservation leaves some resources for others."""

    reservation_id: str
    left: tuple[str, ...]
    taken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeaseImpact:
    """What a maintenance does to one lease. Of an offer, no more than the id and the interval is known."""

    lease_id: str
    interval: Interval
    effect: Effect
    reason: EffectReason | None = None
    resource_ids: tuple[str, ...] = ()
    """The resources that are taken away and that it has in the time of the maintenance, or before."""
    moves: tuple[Move, ...] = ()
    name: str | None = None
    project_id: str | None = None
    user_id: str | None = None
    status: LeaseStatus | None = None
