"""The maintenance: resources that operators take away for a time, and what that does to leases.

The lifetime of a resource is bounded in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from blazar.domain.errors import InvalidInput
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.resource import BUFFER_ID, Allocation
from blazar.domain.time import FOREVER, HORIZON, Interval

Closures = Mapping[str, Sequence[Interval]]
"""By resource: the times in which maintenances take it away."""


class Purpose(StrEnum):
    """Why resources are taken away."""

    MAINTENANCE = "MAINTENANCE"
    """They are away for a time."""
    LIFETIME = "LIFETIME"
    """One resource is not there yet, or is there no more: see Lifetime."""
    BUFFER = "BUFFER"
    """They are kept for leases that lose others: see ``buffer_row``."""


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
    purpose: Purpose = Purpose.MAINTENANCE

    @property
    def resource_ids(self) -> tuple[str, ...]:
        """Return the ids of the resources, each once, in the order of the allocations."""
        return tuple(dict.fromkeys(allocation.resource_id for allocation in self.allocations))

    def closes(self, resource_id: str, interval: Interval) -> bool:
        """Return whether it takes the resource away at any time of the interval."""
        return any(
            each.resource_id == resource_id and each.interval.overlaps(interval) for each in self.allocations
        )

    def overlaps(self, interval: Interval) -> bool:
        """Return whether it takes any resource away at any time of the interval."""
        return any(each.interval.overlaps(interval) for each in self.allocations)


def closures(maintenances: Iterable[Maintenance]) -> Closures:
    """Return when each resource is away."""
    found: dict[str, list[Interval]] = {}
    for maintenance in maintenances:
        if maintenance.purpose is Purpose.BUFFER:
            continue  # what is there already stays, and what has lost others gets it
        for allocation in maintenance.allocations:
            found.setdefault(allocation.resource_id, []).append(allocation.interval)
    return found


def buffer_row(
    resource_ids: Iterable[str], user_id: str, now: datetime, new_id: Callable[[], str]
) -> Maintenance | None:
    """Return what keeps these resources from all plans but those that ignore the buffer; None without any."""
    always = Interval(now, FOREVER)
    rows = tuple(Allocation(new_id(), BUFFER_ID, BUFFER_ID, each, always) for each in resource_ids)
    return Maintenance(BUFFER_ID, "buffer", user_id, always, rows, purpose=Purpose.BUFFER) if rows else None


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From when on a resource is there, and until when; None where it is there already, and where it stays.

    Nothing is reserved on it at other times."""

    available_from: datetime | None = None
    available_until: datetime | None = None

    def away(self, now: datetime) -> tuple[Interval, ...]:
        """Return when the resource is not there, from ``now`` on."""
        found = []
        if self.available_from is not None and self.available_from > now:
            found.append(Interval(now, self.available_from))
        if self.available_until is not None:
            found.append(Interval(self.available_until, FOREVER))
        return tuple(found)


EVERLASTING = Lifetime()


def check_lifetime(lifetime: Lifetime, now: datetime) -> None:
    """Raise InvalidInput where a host would be gone before it is there, or the dates are out of reach."""
    begin, end = lifetime.available_from, lifetime.available_until
    if begin is not None and end is not None and end <= begin:
        raise InvalidInput("available_until must be later than available_from.")
    if any(each is not None and each > now + HORIZON for each in (begin, end)):
        raise InvalidInput("A host can be planned for a hundred years at the most.")


def lifetime_row(
    id_: str, resource_id: str, lifetime: Lifetime, user_id: str, now: datetime, new_id: Callable[[], str]
) -> Maintenance | None:
    """Return what takes the resource away outside of its lifetime, from the minute ``now`` on; None where
    there is nothing to take away."""
    away = lifetime.away(now)
    if not away:
        return None
    return Maintenance(
        id=id_,
        name="not there",
        user_id=user_id,
        interval=Interval(away[0].start, away[-1].end),
        allocations=tuple(Allocation(new_id(), id_, id_, resource_id, each) for each in away),
        purpose=Purpose.LIFETIME,
    )


def lifetimes(rows: Iterable[Maintenance], now: datetime) -> Mapping[str, Lifetime]:
    """Return the lifetimes by resource, as these rows tell them; what has begun is there already."""
    found: dict[str, Lifetime] = {}
    for row in rows:
        if row.purpose is Purpose.LIFETIME:
            for allocation in row.allocations:
                known = found.get(allocation.resource_id, EVERLASTING)
                found[allocation.resource_id] = _bounded(known, allocation.interval, now)
    return found


def _bounded(lifetime: Lifetime, away: Interval, now: datetime) -> Lifetime:
    if away.end >= FOREVER:
        return replace(lifetime, available_until=away.start)
    return replace(lifetime, available_from=away.end) if away.end > now else lifetime


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
