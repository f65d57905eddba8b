"""The planner's answer: a plan or a shortage.

A plan is a proposal. It becomes true with the commit that finds every resource of ``Plan.generations``
unchanged, and inserts, changes and deletes the allocations that the plan names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from blazar.domain.lazy import lazy
from blazar.domain.planning.demand import Grouping
from blazar.domain.resource import WHOLE, Allocation, Usage
from blazar.domain.time import Interval


@dataclass(frozen=True, slots=True)
class Assignment:
    """A reservation gets ``slots`` times ``usage`` of a resource."""

    reservation_id: str
    resource_id: str
    usage: Usage = WHOLE
    slots: int = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """An allocation that stays on its resource: as it was, and as it is to be (interval, usage, slots)."""

    old: Allocation
    new: Allocation

    @property
    def is_changed(self) -> bool:
        return self.old != self.new


@dataclass(frozen=True, slots=True)
class Plan:
    """The allocations that serve a request, as the difference from what the reservations have now.

    ``added`` are to be inserted, also on a resource of which the reservation has a part already, ``released``
    to be deleted, ``kept`` to be rewritten where ``is_changed``.
    ``assignments`` is the outcome, one per reservation and resource. ``generations`` holds the generation of
    each resource whose occupancy the plan changes, ``relied_on`` that of each other one which it keeps, for
    its properties were looked at: the commit compares and raises both."""

    interval: Interval
    assignments: tuple[Assignment, ...] = ()
    added: tuple[Assignment, ...] = ()
    kept: tuple[Kept, ...] = ()
    released: tuple[Allocation, ...] = ()
    generations: Mapping[str, int] = field(default_factory=dict)
    relied_on: Mapping[str, int] = field(default_factory=dict)

    def units(self, reservation_id: str) -> int:
        """Return how many units the reservation has in this plan."""
        return sum(a.slots for a in self.assignments if a.reservation_id == reservation_id)

    def resources(self, reservation_id: str) -> tuple[str, ...]:
        """Return the ids of the resources that serve the reservation in this plan."""
        return tuple(a.resource_id for a in self.assignments if a.reservation_id == reservation_id)

    @property
    def outline(self) -> PlanOutline:
        """Return the outline of what is written down already."""
        units: dict[str, int] = {}
        for each in self.assignments:
            units[each.reservation_id] = units.get(each.reservation_id, 0) + each.slots
        return PlanOutline(self.interval, units, lambda: self)

    @staticmethod
    def joined(plans: Sequence[Plan]) -> Plan:
        """Return one plan made of the plans of several pools. Raises ValueError without any plan."""
        if not plans:
            raise ValueError("no plans to join")
        if len(plans) == 1:
            return plans[0]
        return Plan(
            plans[0].interval,
            tuple(a for plan in plans for a in plan.assignments),
            tuple(a for plan in plans for a in plan.added),
            tuple(k for plan in plans for k in plan.kept),
            tuple(a for plan in plans for a in plan.released),
            {i: generation for plan in plans for i, generation in plan.generations.items()},
            {i: generation for plan in plans for i, generation in plan.relied_on.items()},
        )


class PlanOutline:
    """A plan of which the interval is known and how many units each reservation gets.

    The rest is written down when ``plan`` is first read: with thousands of resources that takes longer than
    to find them, and a search looks at many plans."""

    def __init__(self, interval: Interval, units: Mapping[str, int], write: Callable[[], Plan]) -> None:
        self.interval = interval
        self._units = units
        self._write = write

    def units(self, reservation_id: str) -> int:
        """Return how many units the reservation has in this plan."""
        return self._units.get(reservation_id, 0)

    @lazy
    def plan(self) -> Plan:
        """The plan with all that it has."""
        return self._write()

    @staticmethod
    def joined(outlines: Sequence[PlanOutline]) -> PlanOutline:
        """Return one outline made of those of several pools. Raises ValueError without any."""
        if not outlines:
            raise ValueError("no plans to join")
        if len(outlines) == 1:
            return outlines[0]
        units = {id_: n for each in outlines for id_, n in each._units.items()}
        return PlanOutline(outlines[0].interval, units, lambda: Plan.joined([each.plan for each in outlines]))


class Cause(StrEnum):
    """The cause of a shortage."""

    TOO_FEW = "too_few"
    """Too few resources match or are free in the window."""
    MUST_KEEP = "must_keep"
    """The reservation is active, and something of what it has would have to be taken away."""
    MUST_INCLUDE = "must_include"
    """A resource that has to be among the chosen is unknown, does not match or is not free."""
    COMBINATION = "combination"
    """Each demand fits alone, but not all of them together."""
    UNDECIDED = "undecided"
    """The budget was spent before any demand was looked at."""


@dataclass(frozen=True, slots=True)
class PartMatch:
    """A part of what a demand asks of a resource, as text, and how many reservable ones meet it."""

    part: str
    matched: int


@dataclass(frozen=True, slots=True)
class Shortage:
    """The reason why a request cannot be served, with the numbers of the demand that fails.

    ``wanted`` is its minimum, ``matched`` the number of resources that satisfy its requirement (whatever
    occupies them), ``free`` the number of its units that fit into the window if it is alone. ``first_fit`` is
    the earliest start, not before the one asked for, at which the whole request fits with the same duration;
    None where there is none or none was found within bounds. ``resources`` are the ids that ``cause`` is
    about (MUST_KEEP, MUST_INCLUDE)."""

    reservation_id: str
    plural: str
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
    cut_short: bool = False
    """The budget was spent before all ways to combine the demands were tried: the request may fit all the
    same."""
    buffered: int = 0
    """How many of the resources that match are kept as a buffer."""
    first_fit_cut_short: bool = False
    """The budget was spent before all later starts were tried."""
    parts: tuple[PartMatch, ...] = ()
    """How many resources each part of the demand leaves; empty where it asks for nothing in particular, or
    where no resource has a property that it asks for."""

    @property
    def reason(self) -> str:
        """Return the sentence for the user."""
        return _sentence(self)


def _sentence(shortage: Shortage) -> str:
    names = ", ".join(shortage.resources)
    if shortage.cause is Cause.UNDECIDED:
        return "the search was cut short before anything was found."
    parts = [_occupancy(shortage)]
    if shortage.buffered:
        parts.append(
            f"{shortage.buffered} of them {'is' if shortage.buffered == 1 else 'are'} kept as a buffer"
        )
    if shortage.cause is Cause.MUST_KEEP:
        what = f"of what it has, {names} cannot be kept" if names else "it has more than that already"
        return f"the reservation is active, and {what}."
    if shortage.cause is Cause.MUST_INCLUDE:
        parts = [f"{names} cannot be had" if names else f"more {shortage.plural} are required than wanted"]
    elif shortage.cause is Cause.COMBINATION:
        parts.append("but not together with the other reservations of the lease")
    if shortage.first_fit is not None:
        parts.append(f"first possible start {shortage.first_fit:%Y-%m-%d %H:%M}")
    if shortage.cut_short:
        parts.append("the search was cut short")
    elif shortage.first_fit_cut_short:
        parts.append("the search for a later start was cut short")
    return "; ".join(parts) + "."


def _occupancy(shortage: Shortage) -> str:
    one = shortage.plural.removesuffix("s")
    if not shortage.matched:
        unknown = ", ".join(sorted(shortage.unknown_properties))
        return f"no {one} matches" + (f" (none has the property {unknown})" if unknown else "")
    match = f"1 {one} matches" if shortage.matched == 1 else f"{shortage.matched} {shortage.plural} match"
    if shortage.is_whole or shortage.grouping is Grouping.APART:
        verb = "is" if shortage.free == 1 else "are"
        state = f"{verb} free" if shortage.is_whole else f"{verb} roomy enough"
        return f"{match}, {shortage.free or 'none'} of them {state}"
    where = " on one of them" if shortage.grouping is Grouping.TOGETHER else ""
    return (
        f"{match}, with room for {min(shortage.free, shortage.wanted)} of the {shortage.wanted} wanted{where}"
    )
