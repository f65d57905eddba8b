"""A request for whole resources and all that is movable beside it, as numbers.

A *piece* is what one demand wants at one time, a *unit* one whole resource of it. Resources that suit the
same demands are alike: they are a *class*. What is not movable *stays*: it takes resources of their classes
for a time, and so does what the request asks for by name, as an active lease does for its hosts.

The cost is a pass over the pool for each different requirement, and some passes over the allocations in the
time that is looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blazar.domain.calendar.arrays import Ints, sorted_order
from blazar.domain.calendar.snapshot import CalendarSnapshot, seconds
from blazar.domain.lazy import lazy
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.planning.candidate import candidate_for, matching
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.planning.movable import InUse, in_use, is_same
from blazar.domain.planning.shares import Wanted
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import Allocation
from blazar.domain.time import epoch

NOWHERE = -1
_PASSES = 12


class Wholes:
    """The pieces with their units, and the classes of resources.

    Arrays of pieces and of units begin with those of the request. Times are seconds since 1970-01-01 UTC;
    ends have the cleaning time with them."""

    def __init__(
        self, calendar: CalendarSnapshot, request: PlanRequest, movable: Sequence[Demand], budget: Budget
    ) -> None:
        self.calendar = calendar
        self.request = request
        self.movable = movable
        self._budget = budget
        self._width = seconds(request.cleaning)
        self._masks: list[Mask] = []
        self._kinds: dict[object, int] = {}
        self._candidates = [candidate_for(calendar, each, budget) for each in request.demands]
        self.named = [(n, index) for n, each in enumerate(self._candidates) for index in each.needed]
        """The indexes that the request asks for by name, each with the number of its demand."""
        lacking = [each.least - len(each.needed) for each in self._candidates]
        self.new = [number for number, units in enumerate(lacking) if units > 0]
        """By piece of the request: the number of its demand."""
        kinds = [self._kind_of(request.demands[number]) for number in self.new]
        self._begin(np.array([lacking[number] for number in self.new], np.int64), np.array(kinds, np.int64))
        self._add_movable()
        self._divide()

    def _begin(self, units: Ints, kinds: Ints) -> None:
        """Begin with the pieces of the request."""
        begin, end = self.asked
        self.start: Ints = np.full(len(units), begin)
        """By piece."""
        self.end: Ints = np.full(len(units), end)
        """By piece."""
        self.units = units
        """By piece."""
        self.kind = kinds
        """By piece: which mask of resources suits it."""
        self.row: Ints = np.full(int(units.sum()), NOWHERE)
        """By unit: that of the calendar; NOWHERE for a new one."""
        self.home = self.row
        """By unit: the index where it is planned; NOWHERE for a new one."""

    def _add_movable(self) -> None:
        """Add what may move: what one demand has at one time is a piece."""
        leaves = np.array([_may_leave(each) for each in self.movable], bool)
        kinds = np.array([self._kind_of(each) if _may_leave(each) else 0 for each in self.movable], np.int64)
        self.masks: Mask = np.array(self._masks, bool).reshape(len(self._masks), self.calendar.columns.size)
        """By kind: the resources that suit it and may be planned."""
        rows, numbers = self._rows(leaves, kinds)
        occupancy = self.calendar.occupancy
        order = np.lexsort((occupancy.end[rows], occupancy.start[rows], numbers))
        rows, numbers = rows[order], numbers[order]
        start, end = occupancy.start[rows], occupancy.end[rows] + self._width
        is_first = np.ones(len(rows), bool)
        is_first[1:] = (np.diff(numbers) != 0) | (np.diff(start) != 0) | (np.diff(end) != 0)
        firsts = np.flatnonzero(is_first)
        self.start = np.concatenate((self.start, start[firsts]))
        self.end = np.concatenate((self.end, end[firsts]))
        self.units = np.concatenate((self.units, np.diff(np.append(firsts, len(rows)))))
        self.kind = np.concatenate((self.kind, kinds[numbers[firsts]]))
        self._numbers = numbers[firsts]
        self.row = np.concatenate((self.row, rows))
        self.home = np.concatenate((self.home, occupancy.index[rows].astype(np.int64)))
        self.piece: Ints = np.repeat(np.arange(len(self.units)), self.units)
        """By unit."""

    @property
    def asked(self) -> tuple[int, int]:
        """Return the start and the end of the request."""
        interval = self.request.interval
        return epoch(interval.start), epoch(interval.end) + self._width

    def _kind_of(self, demand: Demand) -> int:
        traits = demand.required_traits, demand.forbidden_traits
        key = demand.requirement, traits, demand.resources, demand.yields_to
        if key not in self._kinds:
            self._kinds[key] = len(self._masks)
            suits = matching(self.calendar, demand, self._budget)
            self._masks.append(suits & self.calendar.columns.reservable)
        return self._kinds[key]

    def _rows(self, leaves: Mask, kinds: Ints) -> tuple[Ints, Ints]:
        """Return the rows that may move, with the numbers of their demands, and keep those that stay, in the
        time of the request and all that may move.

        A reservation has its resources at one time, as a rule: what lies beyond all first ones stays."""
        occupancy = self.calendar.occupancy
        times = [each.current[0].interval for each in self.movable if each.current]
        bounds = [self.asked, *((epoch(each.start), epoch(each.end)) for each in times)]
        begin, end = min(start for start, _ in bounds), max(end for _, end in bounds)
        rows = occupancy.overlapping(begin - self._width, end + self._width)
        self._budget.spend(of_array(len(rows) + len(occupancy.first), _PASSES) + len(times))
        numbers, index = self._numbers_of(occupancy.reservation[rows]), occupancy.index[rows].astype(np.int64)
        belongs = numbers >= 0
        belongs[belongs] = ~np.isin(self._key(numbers[belongs], index[belongs]), self._pinned())
        moves = belongs & occupancy.whole[rows]
        moves &= (occupancy.start[rows] >= begin) & (occupancy.end[rows] <= end)
        moves[moves] = leaves[numbers[moves]]
        moves[moves] = self.masks[kinds[numbers[moves]], index[moves]]
        self.is_all = bool((moves == belongs).all())
        """Whether nothing stays that other ways to make room could move."""
        self._stays = rows[~moves]
        return rows[moves], numbers[moves]

    def _numbers_of(self, reservations: Ints) -> Ints:
        """Return the numbers of the movable demands by the hashes of their ids; -1 for all others."""
        if not self.movable:
            return np.full(len(reservations), -1)
        hashes = np.array([hash(each.reservation_id) for each in self.movable], np.int64)
        order = np.argsort(hashes)
        in_order = hashes[order]
        at = np.searchsorted(in_order, reservations).clip(max=len(order) - 1)
        return np.where(in_order[at] == reservations, order[at], -1)

    def _key(self, number: Ints, index: Ints) -> Ints:
        return number * self.calendar.columns.size + index

    def _pinned(self) -> Ints:
        """Return the keys of what movable demands have on resources that their users named."""
        named = [
            (number, index)
            for number, each in enumerate(self.movable)
            for name in each.must_include
            if (index := self.calendar.index_of(name)) is not None
        ]
        return self._key(*np.array(named, np.int64).reshape(-1, 2).T)

    def _divide(self) -> None:
        """Divide the resources into classes: those that suit the same kinds, by a sum of random numbers, one
        for each kind."""
        size = self.calendar.columns.size
        self._budget.spend(of_array(size, 2 * len(self.masks)))
        random = np.random.default_rng(0)
        signature: Ints = np.zeros(size, np.int64)
        for mask in self.masks:
            signature[mask] += random.integers(1, 1 << 62)
        known, first, of_class = np.unique(signature, return_index=True, return_inverse=True)
        is_none = int(known[:1].sum() == 0)
        self.class_of: Ints = of_class.reshape(-1) - is_none
        """By index; -1 where nothing suits."""
        self.suits: Mask = self.masks[:, first[is_none:]]
        """By kind and class."""

    @lazy
    def fixed(self) -> InUse:
        """Return when resources are in use by what stays, and by what is asked for by name."""
        stay = self.staying
        indexes: Ints = np.array([index for _, index in self.named], np.int64)
        begin, end = self.asked
        return InUse(
            np.concatenate((stay.indexes, indexes)),
            np.concatenate((stay.begins, np.full(len(indexes), begin))),
            np.concatenate((stay.ends, np.full(len(indexes), end))),
        )

    @lazy
    def staying(self) -> InUse:
        """Return when resources are in use by what stays."""
        return in_use(self.calendar.occupancy, self._stays, self._width)

    @lazy
    def place(self) -> Ints:
        """Return by unit the index where it can stay: not what is asked for by name."""
        begin, end = self.asked
        is_there = (self.start[self.piece] < end) & (self.end[self.piece] > begin)
        is_named = np.isin(self.home, [index for _, index in self.named])
        return np.where(is_there & is_named, NOWHERE, self.home)

    @lazy
    def wanted(self) -> Wanted:
        """Return the same by numbers of resources of each class."""
        times = self._times()
        classes, pieces = self.suits.shape[1], len(self.units)
        self._budget.spend(of_array(len(self.piece) + len(self.fixed.begins) + len(times) * classes, _PASSES))
        is_there = self.place != NOWHERE
        has = np.zeros((classes, pieces), np.int64)
        np.add.at(has, (self.class_of[self.place[is_there]], self.piece[is_there]), 1)
        first, last = np.searchsorted(times, self.start), np.searchsorted(times, self.end)
        free = np.array([self._free(number, times) for number in range(classes)], np.int64)
        return Wanted(first, last, self.units, self.kind, self.suits, has, free.reshape(classes, len(times)))

    def _times(self) -> Ints:
        """Return the times at which more may be wanted, or at which less may be as something that stays
        begins."""
        starts = np.unique(self.start)
        begins_later = len(starts) > 0 and bool((self.fixed.begins > starts[0]).any())
        return np.unique(np.concatenate((starts, self.end))) if begins_later else starts

    def _free(self, of_class: int, times: Ints) -> Ints:
        """Return for each of the times, until the next one, the fewest resources of the class that are free
        beside what is fixed."""
        chosen = self.class_of[self.fixed.indexes] == of_class
        begins, ends = self.fixed.begins[chosen], self.fixed.ends[chosen]
        moments = np.concatenate((ends << 1, begins << 1 | 1))  # what ends makes room for what begins then
        order = sorted_order(moments)
        moments = moments[order] >> 1
        changes = np.where(order < len(ends), 1, -1)
        levels = int((self.class_of == of_class).sum()) + np.concatenate(([0], np.cumsum(changes)))
        first = np.searchsorted(moments, times, "right")
        last = np.append(np.searchsorted(moments, times[1:], "left"), first[-1:])
        bounds = np.stack((first, last + 1), axis=1).reshape(-1)
        least: Ints = np.minimum.reduceat(np.append(levels, 0), bounds)[::2]
        return least

    @property
    def order(self) -> Ints:
        """Return the classes, those first that are wanted the least."""
        demand = np.bincount(self.kind, self.units * (self.end - self.start), len(self.suits))
        return np.argsort(demand @ self.suits, kind="stable")

    def allows_named(self) -> bool:
        """Return whether all that is asked for by name is free of what stays, and may be planned."""
        if not self.named:
            return True
        busy = set(self.staying.during(*self.asked).tolist())
        indexes = [index for _, index in self.named]
        return len(set(indexes)) == len(indexes) and all(
            index not in busy and self._candidates[number].units[index] for number, index in self.named
        )

    def allocations(self, piece: int, rows: Ints) -> Sequence[Allocation]:
        """Return the allocations of a movable piece in these rows. Raises CutShort where they are not as they
        were read."""
        demand = self.movable[self._numbers[piece - len(self.new)]]
        known = {row.id: row for row in demand.current}
        found = [self.calendar.occupancy.allocations[row] for row in rows.tolist()]
        same = [row for row in found if row is not None and is_same(row, known.get(row.id))]
        if len(same) < len(found):
            raise CutShort
        return same


def _may_leave(demand: Demand) -> bool:
    return demand.usage.whole and (demand.grouping is not Grouping.TOGETHER or len(demand.current) == 1)
