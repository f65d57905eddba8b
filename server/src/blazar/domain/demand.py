"""What is asked of the planner and what it answers: demands and a request; a plan or a shortage.

A plan is a proposal. It becomes true with the commit that inserts, changes and deletes the allocations it
names and that finds every resource of ``Plan.generations`` unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from blazar.domain.requirement import ANYTHING, Requirement
from blazar.domain.resource import WHOLE, Allocation, Claim
from blazar.domain.time import Interval


class Grouping(StrEnum):
    """How the units of one demand may share resources."""

    ANY = "any"
    TOGETHER = "together"
    """All units on one resource."""
    APART = "apart"
    """Every unit on a resource of its own."""


class Order(StrEnum):
    """Which of the resources that would do are taken."""

    PACKED = "packed"
    """Those partly used already, with the least room left; then those that come first in database order."""
    RANDOM = "random"
    """Any, drawn with the request's seed."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one reservation needs: from ``minimum`` to ``maximum`` units, each laying ``claim`` on a
    matching resource.

    A unit is a host, an address or a slot. ``resources`` restricts the choice to these ids;
    ``must_include`` names ids that have to be among the chosen. ``current`` is what the reservation has
    now: as much of it as still matches and fits is kept. With ``keep_current`` (the reservation is active)
    nothing of it may be taken away: where that is impossible the answer is a shortage; whether a kept
    resource is reservable is then not asked. ``noun`` names the resources in messages.

    Raises ValueError where ``minimum`` is negative or above ``maximum``, or an amount is negative.
    """

    reservation_id: str
    minimum: int
    maximum: int
    claim: Claim = WHOLE
    requirement: Requirement = ANYTHING
    required_traits: frozenset[str] = frozenset()
    forbidden_traits: frozenset[str] = frozenset()
    grouping: Grouping = Grouping.ANY
    resources: frozenset[str] | None = None
    must_include: tuple[str, ...] = ()
    current: tuple[Allocation, ...] = ()
    keep_current: bool = False
    noun: str = "hosts"

    def __post_init__(self) -> None:
        if not 0 <= self.minimum <= self.maximum:
            raise ValueError(f"minimum {self.minimum} and maximum {self.maximum} of a demand do not fit together")
        if any(n < 0 for n in (self.claim.amounts or {}).values()):
            raise ValueError(f"a demand claims negative amounts: {self.claim.amounts}")


@dataclass(frozen=True, slots=True)
class Request:
    """Demands for the same interval, planned together: all or nothing.

    ``cleaning`` is kept free before and after the interval, against the allocations of everybody else. What
    the reservations of ``demands`` occupy now is left out of the calendar, for the plan replaces it; every
    other allocation counts, also those of the same lease. So a change of a lease's interval names all of
    its reservations in this pool. ``seed`` is for Order.RANDOM.
    """

    interval: Interval
    demands: tuple[Demand, ...]
    cleaning: timedelta = timedelta(0)
    order: Order = Order.PACKED
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """``slots`` times ``claim`` on a resource for a reservation."""

    reservation_id: str
    resource_id: str
    claim: Claim = WHOLE
    slots: int = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """An allocation that stays where it is, as it was and as it shall be (interval, claim, slots)."""

    old: Allocation
    new: Allocation

    @property
    def is_changed(self) -> bool:
        return self.old != self.new


@dataclass(frozen=True, slots=True)
class Plan:
    """The allocations that satisfy a request, as the difference to what the reservations have now.

    ``added`` are to be inserted, ``released`` to be deleted, ``kept`` to be rewritten where ``is_changed``.
    ``assignments`` is the outcome, one per reservation and resource. ``generations`` holds the generation
    of each resource whose occupancy the plan changes: the commit compares and raises them.
    """

    interval: Interval
    assignments: tuple[Assignment, ...] = ()
    added: tuple[Assignment, ...] = ()
    kept: tuple[Kept, ...] = ()
    released: tuple[Allocation, ...] = ()
    generations: Mapping[str, int] = field(default_factory=dict)

    def units(self, reservation_id: str) -> int:
        """How many units the reservation has in this plan."""
        return sum(a.slots for a in self.assignments if a.reservation_id == reservation_id)

    def resources(self, reservation_id: str) -> tuple[str, ...]:
        """The ids of the resources that serve the reservation in this plan."""
        return tuple(a.resource_id for a in self.assignments if a.reservation_id == reservation_id)

    @staticmethod
    def joined(plans: Sequence[Plan]) -> Plan:
        """One plan out of the plans of several pools. Raises ValueError where there is none."""
        if not plans:
            raise ValueError("no plans to join")
        return Plan(
            plans[0].interval,
            tuple(a for plan in plans for a in plan.assignments),
            tuple(a for plan in plans for a in plan.added),
            tuple(k for plan in plans for k in plan.kept),
            tuple(a for plan in plans for a in plan.released),
            {i: generation for plan in plans for i, generation in plan.generations.items()},
        )


class Cause(StrEnum):
    """Why there is no plan."""

    TOO_FEW = "too_few"
    """Too few resources match or are free in the window."""
    MUST_KEEP = "must_keep"
    """The reservation is active, and something of what it has would have to be taken away."""
    MUST_INCLUDE = "must_include"
    """A resource that has to be among the chosen is unknown, does not match or is occupied."""
    COMBINATION = "combination"
    """Each demand could be satisfied, but not all of them together."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why a request cannot be satisfied, told of the demand that fails.

    ``wanted`` is its minimum, ``matched`` how many resources satisfy its requirement (whatever occupies
    them), ``free`` how many units of it could be had in the window if it were alone. ``first_fit`` is the
    earliest start, not before the one asked for, at which the whole request would fit with the same
    duration; None where there is none or none was found within bounds. ``resources`` are the ids that
    ``cause`` is about (MUST_KEEP, MUST_INCLUDE).
    """

    reservation_id: str
    noun: str
    cause: Cause
    wanted: int
    matched: int
    free: int
    first_fit: datetime | None = None
    unknown_properties: frozenset[str] = frozenset()
    resources: tuple[str, ...] = ()
    grouping: Grouping = Grouping.ANY
    is_whole: bool = True
    """Whether a unit is a whole resource."""

    @property
    def reason(self) -> str:
        """The sentence for the user."""
        return _sentence(self)


def _sentence(shortage: Shortage) -> str:
    names = ", ".join(shortage.resources)
    parts = [_occupancy(shortage)]
    if shortage.cause is Cause.MUST_KEEP:
        what = f"of what it has, {names} cannot be kept" if names else "it has more than that already"
        return f"the reservation is active, and {what}."
    if shortage.cause is Cause.MUST_INCLUDE:
        parts = [f"{names} cannot be had" if names else f"more {shortage.noun} are required than wanted"]
    elif shortage.cause is Cause.COMBINATION:
        parts.append("but not together with the other reservations of the lease")
    if shortage.first_fit is not None:
        parts.append(f"first possible start {shortage.first_fit:%Y-%m-%d %H:%M}")
    return "; ".join(parts) + "."


def _occupancy(shortage: Shortage) -> str:
    one = shortage.noun.removesuffix("s")
    if not shortage.matched:
        unknown = ", ".join(sorted(shortage.unknown_properties))
        return f"no {one} matches" + (f" (none has the property {unknown})" if unknown else "")
    match = f"1 {one} matches" if shortage.matched == 1 else f"{shortage.matched} {shortage.noun} match"
    if shortage.is_whole or shortage.grouping is Grouping.APART:
        verb = "is" if shortage.free == 1 else "are"
        state = f"{verb} free" if shortage.is_whole else f"{verb} roomy enough"
        return f"{match}, {shortage.free or 'none'} of them {state}"
    where = " on one of them" if shortage.grouping is Grouping.TOGETHER else ""
    return f"{match}, with room for {min(shortage.free, shortage.wanted)} of the {shortage.wanted} wanted{where}"
