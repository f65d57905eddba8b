"""The resources that could serve one demand, as a snapshot of the calendar knows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.calendar.columns import ResourceColumns, amounts_of
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.lazy import lazy
from blazar.domain.planning.budget import Budget
from blazar.domain.planning.demand import Demand, Grouping
from blazar.domain.requirement.language import Mask

Choice = dict[int, int]
"""Slots by index."""
MANY_UNITS = 2**40
"""How many units of an empty usage one resource takes."""


@dataclass(frozen=True)
class Candidate:
    """A demand, and where it could be served if nothing else were there."""

    demand: Demand
    amounts: tuple[tuple[str, int], ...]
    matching: Mask
    """Where a resource suits it, whether reservable or not."""
    held: Choice
    """The slots that its reservation has now, in the order in which they are to be kept."""
    needed: Choice
    """The slots that it must get, because of ``keep_current`` and ``must_include``."""
    unknown: tuple[str, ...]
    """Ids that it must get and that the calendar does not know."""
    columns: ResourceColumns
    """The resources of the pool, a column for each of their properties; the masks above count by its rows."""

    @property
    def is_whole(self) -> bool:
        return self.demand.usage.whole

    @property
    def least(self) -> int:
        """Return the fewest units that serve it."""
        return max(self.demand.minimum, sum(self.needed.values()))

    @property
    def most(self) -> int:
        """Return the most units that it may get."""
        whole_together = self.is_whole and self.demand.grouping is Grouping.TOGETHER
        return min(self.demand.maximum, 1) if whole_together else self.demand.maximum

    @lazy
    def units(self) -> Ints:
        """Return the capacity of each resource without any allocation; don't write to it.

        The cost is a pass over the pool for each resource class, once for all windows."""
        eligible = self.matching & self.columns.reservable
        kept = [index for index in self.held if self.demand.keep_current and not eligible[index]]
        eligible[[index for index in kept if self.matching[index]]] = True
        units = np.where(eligible, 1 if self.is_whole else MANY_UNITS, 0)
        for resource_class, n in self.amounts:
            np.minimum(units, np.maximum(self.columns.capacity(resource_class), 0) // n, out=units)
        for index in kept:
            units[index] = min(units[index], self.held[index])
        if self.demand.grouping is Grouping.APART:
            np.minimum(units, 1, out=units)
        return units


def candidate_for(calendar: CalendarSnapshot, demand: Demand, budget: Budget) -> Candidate:
    """Look up what the snapshot knows about a demand. Raises CutShort.

    The cost is one pass over the pool for each comparison of the requirement, and one for each trait."""
    rank = calendar.rank
    rows = [
        (index, row) for row in demand.current if (index := calendar.index_of(row.resource_id)) is not None
    ]
    rows.sort(key=lambda pair: (not pair[1].bound, rank[pair[0]]))
    held: Choice = {}
    for index, row in rows:
        held[index] = held.get(index, 0) + row.slots
    needed = dict(held) if demand.keep_current else {}
    must = demand.must_include + (
        tuple(row.resource_id for row in demand.current) if demand.keep_current else ()
    )
    for name in demand.must_include:
        if (index := calendar.index_of(name)) is not None:
            needed.setdefault(index, 1)
    unknown = tuple(dict.fromkeys(name for name in must if name not in calendar))
    suits = matching(calendar, demand, budget)
    return Candidate(demand, amounts_of(demand.usage), suits, held, needed, unknown, calendar.columns)


def matching(calendar: CalendarSnapshot, demand: Demand, budget: Budget) -> Mask:
    """Return where a resource suits the demand, and none that it yields to. Raises CutShort."""
    suits = suitable(calendar, demand, budget)
    for other in demand.yields_to:
        suits = suits & ~suitable(calendar, other, budget)
    return suits


def suitable(calendar: CalendarSnapshot, demand: Demand, budget: Budget) -> Mask:
    """Return where a resource suits the demand by itself, whatever occupies it. Raises CutShort."""
    traits = len(demand.required_traits) + len(demand.forbidden_traits)
    budget.spend((demand.requirement.passes + traits + 1) * (1 + calendar.columns.size // 4000))
    matching = calendar.columns.matching(
        demand.requirement, demand.required_traits, demand.forbidden_traits, demand.usage
    )
    if demand.resources is None:
        return matching
    chosen: Mask = np.zeros(len(matching), bool)
    chosen[[index for name in demand.resources if (index := calendar.index_of(name)) is not None]] = True
    return matching & chosen
