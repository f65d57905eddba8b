"""How much of what a demand asks for each resource still has in the window, beside what is planned already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blazar.domain.calendar import Calendar
from blazar.domain.demand import Demand, Grouping
from blazar.domain.facts import Facts, Ints, amounts_of
from blazar.domain.requirement import Mask
from blazar.domain.window import Window

Choice = dict[int, int]
"""Slots by place."""
MANY_UNITS = 2**40
"""How many units of an empty claim one resource takes."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """A demand, seen from the calendar: where it could be served if nothing else were there."""

    demand: Demand
    amounts: tuple[tuple[str, int], ...]
    matching: Mask
    """Where it could be served, whether reservable or not."""
    held: Choice
    """What it has now, in the order in which it is to be kept."""
    needed: Choice
    """What it must get, because of ``keep_current`` and ``must_include``."""
    unknown: tuple[str, ...]
    """Ids that it must get and that the calendar does not know."""

    @property
    def is_whole(self) -> bool:
        return self.demand.claim.whole

    @property
    def least(self) -> int:
        """How many units it has to get at least."""
        return max(self.demand.minimum, sum(self.needed.values()))

    @property
    def most(self) -> int:
        """How many units it may get at most."""
        whole_together = self.is_whole and self.demand.grouping is Grouping.TOGETHER
        return min(self.demand.maximum, 1) if whole_together else self.demand.maximum


def prospect(calendar: Calendar, demand: Demand) -> Prospect:
    """Look at the calendar's resources with the eyes of a demand."""
    matching = calendar.facts.matching(
        demand.requirement, demand.required_traits, demand.forbidden_traits, demand.claim
    )
    if demand.resources is not None:
        chosen = np.zeros(len(matching), bool)
        chosen[[place for name in demand.resources if (place := calendar.place_of(name)) is not None]] = True
        matching = matching & chosen
    rank = calendar.rank
    rows = [(place, row) for row in demand.current if (place := calendar.place_of(row.resource_id)) is not None]
    rows.sort(key=lambda pair: (not pair[1].bound, rank[pair[0]]))
    held: Choice = {}
    for place, row in rows:
        held[place] = held.get(place, 0) + row.slots
    needed = dict(held) if demand.keep_current else {}
    must = demand.must_include + (tuple(row.resource_id for row in demand.current) if demand.keep_current else ())
    for name in demand.must_include:
        if (place := calendar.place_of(name)) is not None:
            needed.setdefault(place, 1)
    unknown = tuple(dict.fromkeys(name for name in must if name not in calendar))
    return Prospect(demand, amounts_of(demand.claim), matching, held, needed, unknown)


class Room:
    """What is left in a window for several prospects. Places are taken for one and can be given back.

    A ``cautious`` room takes all that overlaps with the window for used at once: what it has there is, but there may be
    more.
    """

    def __init__(self, facts: Facts, window: Window, prospects: Sequence[Prospect], *, cautious: bool = False) -> None:
        self._facts = facts
        self._window = window
        self._in_use = window.total if cautious else window.peak
        self._prospects = prospects
        self._alone: dict[int, Ints] = {}
        self._left: dict[str, Ints] = {}
        self._planned: dict[int, Choice] = {}
        """Slots by number of the prospect, by place."""

    def used(self) -> Mask:
        """Which resources somebody uses in the window, what is planned included."""
        used = self._window.occupied.copy()
        used[list(self._planned)] = True
        return used

    def alone(self, number: int) -> Ints:
        """How many units of a prospect each resource has room for when nothing is planned; don't write to it."""
        units = self._alone.get(number)
        if units is None:
            units = self._alone[number] = self._count(self._prospects[number])
        return units

    def units(self, number: int) -> Ints:
        """How many units of a prospect each resource has room for beside what is planned for the others."""
        units = self.alone(number).copy()
        for place, planned in self._planned.items():
            if units[place]:
                units[place] = self._beside(number, place, planned)
        return units

    def clear(self) -> None:
        """Forget all that is planned."""
        self._planned.clear()

    def take(self, number: int, choice: Choice) -> None:
        """Plan these slots for a prospect, which has none so far."""
        for place, slots in choice.items():
            self._planned.setdefault(place, {})[number] = slots

    def give_back(self, number: int) -> None:
        """Forget what is planned for a prospect."""
        for planned in self._planned.values():
            planned.pop(number, None)
        self._planned = {place: planned for place, planned in self._planned.items() if planned}

    def left(self, resource_class: str) -> Ints:
        """How much of a class the calendar leaves on each resource at the worst instant; don't write to it."""
        left = self._left.get(resource_class)
        if left is None:
            # Less than nothing is left where a resource has lost capacity.
            left = np.maximum(self._facts.capacity(resource_class) - self._in_use(resource_class), 0)
            self._left[resource_class] = left
        return left

    def _count(self, prospect: Prospect) -> Ints:
        eligible = prospect.matching & self._facts.reservable
        kept = [place for place in prospect.held if prospect.demand.keep_current and not eligible[place]]
        eligible[[place for place in kept if prospect.matching[place]]] = True
        if prospect.is_whole:
            units = (eligible & ~self._window.occupied).astype(np.int64)
        else:
            units = np.where(eligible & ~self._window.taken, MANY_UNITS, 0)
            for resource_class, n in prospect.amounts:
                np.minimum(units, self.left(resource_class) // n, out=units)
        for place in kept:
            units[place] = min(units[place], prospect.held[place])
        if prospect.demand.grouping is Grouping.APART:
            np.minimum(units, 1, out=units)
        return units

    def _beside(self, number: int, place: int, planned: Choice) -> int:
        prospect = self._prospects[number]
        others = [(self._prospects[other], slots) for other, slots in planned.items() if other != number]
        if any(prospect.is_whole or other.is_whole for other, _ in others):
            return 0
        alone = int(self.alone(number)[place])
        for resource_class, n in prospect.amounts:
            taken = sum(dict(other.amounts).get(resource_class, 0) * slots for other, slots in others)
            alone = min(alone, max(int(self.left(resource_class)[place]) - taken, 0) // n)
        return alone
