"""Plan parts of resources anew, by a local search: a request together with all that is movable beside it.

The units of a demand are alike: of a *piece*, which is what one demand wants at one time, only the number of
units on each resource counts. Few resources are looked at, and what else is on them stays.

1. The request is laid where it makes the least too much. So a resource is *short* of something at some times.
2. The unit moves to another resource that makes the shortages smaller by the most. For some moves its piece
   does not come back to the resource that it left (tabu search).
3. Where no move makes them smaller, all that is short weighs more from now on, until one does (breakout
   method).

It is the search of ``planning.shares``, with resources in place of classes, and with amounts of several
resource classes in place of numbers. How much too much there is, is counted in shares of a resource.

Example: three hosts have 8 VCPUs each. From 8 to 12, host 1 has servers of 2 and 4, host 2 has two of 3, and
host 3 has one of 5. A request for a server of 4 from 8 to 9 fits in sum, for 2, 2 and 3 are free. It is laid
on host 3, where it makes the least too much: 1. No move makes that less. So it weighs more, until the request
moves to host 1 all the same. There the server of 2 moves to host 2.

A move costs some passes over the times of two resources, for each different amount that a piece takes.
Sources: those of ``planning.shares``; E. Taillard, "Robust Taboo Search for the Quadratic Assignment
Problem", Parallel Computing 17, 1991."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from blazar.domain.calendar.arrays import Ints, sorted_order
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.planning.candidate import Candidate
from blazar.domain.planning.demand import Demand, Grouping
from blazar.domain.planning.movable import Movables, Rearrangement, rearrangement
from blazar.domain.planning.plan import Assignment
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import Allocation, PlannedMove
from blazar.domain.time import epoch

Weights = npt.NDArray[np.float64]

RESOURCES = 48
"""So many resources are looked at."""
MOVES = 1000
"""So many moves are tried at most: half of the searches that find a way need fewer than fifty."""
STAYS_AWAY = (2, 20)
"""For so many moves a piece does not come back to a resource: drawn each time, so that the search goes in no
circle."""
GROWTH = 1.5
"""What is short weighs so many times as much after it."""
AT_ONCE = 8
"""So many resources are weighed at once: their times, for each different amount, are in memory then."""
_PASSES = 8
"""Passes over arrays to read what is on the resources."""
_WEIGHED = 2
"""Passes over the times of a resource for each different amount, to weigh it."""
_MOVE = 24
"""Steps of a move beside these."""
_RANDOM = 1e-6
"""Which of equal moves is made."""


def repacked_parts(movables: Movables, budget: Budget) -> Rearrangement:
    """Return the plan of a request for parts of resources, with the minimum of each of its demands, and the
    moves that make room for it. Raises CutShort where no way was found."""
    pieces = list(_pieces(movables))
    if not pieces:
        raise CutShort
    site = _Site(movables, pieces, budget)
    if not len(site.indexes):
        raise CutShort
    search = _Search(site, budget)
    search.lay()
    for number in range(MOVES):
        if search.is_done():
            return _outcome(movables, site, search.share)
        search.move(number)
    raise CutShort


class _Piece(NamedTuple):
    """What one demand wants at one time. Times are seconds since 1970-01-01 UTC; ``end`` has the cleaning
    time with it."""

    demand: int
    start: int
    end: int
    amounts: tuple[tuple[str, int], ...]
    """Of one unit."""
    slots: int
    """So many slots are one unit: all of them where they stay together."""
    new: int
    """The units that have no place yet."""
    rows: tuple[int, ...] = ()
    """Those of the calendar that it has."""
    allocations: tuple[Allocation, ...] = ()
    """The same."""


def _pieces(movables: Movables) -> Iterator[_Piece]:
    """Yield the pieces of the request, and those that may move. Raises CutShort where the request is not for
    parts, or names its resources."""
    interval, width = movables.request.interval, movables.width
    start, end = epoch(interval.start), epoch(interval.end) + width
    for number, candidate in enumerate(movables.candidates[: movables.new]):
        if candidate.is_whole or candidate.needed or candidate.demand.grouping is Grouping.APART:
            raise CutShort
        if candidate.least:
            slots = _slots(candidate.demand, candidate.least)
            yield _Piece(number, start, end, _amounts(candidate, slots), slots, candidate.least // slots)
    rows = movables.rows[movables.is_movable[movables.rows]]
    found: dict[tuple[int, int, int], list[int]] = {}
    for row in rows.tolist():
        allocation = movables.allocation(row)
        number_of = movables.number_of(allocation)
        if number_of is not None and _may_move(movables.demands[number_of]):
            interval = allocation.interval
            key = number_of, epoch(interval.start), epoch(interval.end) + width
            found.setdefault(key, []).append(row)
    for (number, start, end), own in found.items():
        allocations = tuple(movables.allocation(row) for row in own)
        slots = _slots(movables.demands[number], sum(each.slots for each in allocations))
        amounts = _amounts(movables.candidates[number], slots)
        yield _Piece(number, start, end, amounts, slots, 0, tuple(own), allocations)


def _may_move(demand: Demand) -> bool:
    return not demand.usage.whole and demand.grouping is not Grouping.APART


def _slots(demand: Demand, units: int) -> int:
    return units if demand.grouping is Grouping.TOGETHER else 1


def _amounts(candidate: Candidate, slots: int) -> tuple[tuple[str, int], ...]:
    return tuple((name, amount * slots) for name, amount in candidate.amounts)


class _Site:
    """The resources that are looked at, the times at which anything starts or ends, and what is free then
    beside what stays. Arrays have the resources by their position in ``indexes``."""

    def __init__(self, movables: Movables, pieces: Sequence[_Piece], budget: Budget) -> None:
        self._movables = movables
        self._budget = budget
        calendar = movables.calendar
        self.classes = sorted({name for piece in pieces for name, _ in piece.amounts})
        self._stays = ~np.isin(movables.rows, [row for piece in pieces for row in piece.rows])
        self.indexes = self._chosen(pieces)
        self._position = {calendar.id_at(index): at for at, index in enumerate(self.indexes.tolist())}
        self.pieces = [each for each in pieces if each.new or any(map(self._is_here, each.allocations))]
        """What is nowhere on these resources stays where it is."""
        self.times = np.unique([moment for each in self.pieces for moment in (each.start, each.end)])
        columns = calendar.columns
        capacities = [columns.capacity(name)[self.indexes] for name in self.classes]
        self.capacity: Ints = np.array(capacities, np.int64).reshape(len(self.classes), -1).T
        """By resource and class."""
        self.most: Ints = np.array(
            [movables.candidates[each.demand].units[self.indexes] // each.slots for each in self.pieces]
        )
        """By piece and resource: the units that fit where nothing else is."""
        self.has: Ints = np.zeros((len(self.indexes), len(self.pieces)), np.int64)
        """By resource and piece: the units as planned now."""
        for number, piece in enumerate(self.pieces):
            for row in piece.allocations:
                if (at := self.position_of(row)) is not None:
                    self.has[at, number] += row.slots // piece.slots
        budget.spend(of_array(len(self.indexes) * len(self.times) * len(self.classes), _PASSES))
        self.free: Ints = np.array([self._free(at) for at in range(len(self.indexes))], np.int64)
        """By resource, time and class: the least that is free until the next time."""

    def position_of(self, allocation: Allocation) -> int | None:
        """Return where the resource of an allocation stands; None where it is not looked at."""
        return self._position.get(allocation.resource_id)

    def _is_here(self, allocation: Allocation) -> bool:
        return self.position_of(allocation) is not None

    def _chosen(self, pieces: Sequence[_Piece]) -> Ints:
        """Return the indexes of the resources that suit the request where the least stays in its time."""
        movables = self._movables
        suits: Mask = np.zeros(movables.calendar.columns.size, bool)
        for candidate in movables.candidates[: movables.new]:
            suits |= candidate.units > 0
        start, end = pieces[0].start - movables.width, pieces[0].end
        occupancy, rows = movables.calendar.occupancy, movables.rows[self._stays]
        rows = rows[(occupancy.start[rows] < end) & (occupancy.end[rows] > start)]
        indexes = np.flatnonzero(suits)
        self._budget.spend(of_array(len(suits) + len(rows), _PASSES * len(self.classes)))
        in_use: Weights = np.zeros(len(suits))
        for name in self.classes:
            capacity = movables.calendar.columns.capacity(name)
            amounts = np.where(
                occupancy.whole[rows], capacity[occupancy.index[rows]], occupancy.amounts(name, rows)
            )
            summed = np.bincount(occupancy.index[rows], amounts, len(suits))
            np.maximum(in_use, summed / np.maximum(capacity, 1), out=in_use)
        order = np.lexsort((movables.calendar.rank[indexes], in_use[indexes]))
        return indexes[order[:RESOURCES]]

    def _free(self, position: int) -> Ints:
        """Return for each of the times, and each class, the least that is free until the next one."""
        movables, index = self._movables, int(self.indexes[position])
        occupancy = movables.calendar.occupancy
        first, last = np.searchsorted(movables.indexes, [index, index + 1]).tolist()
        rows = movables.rows[first:last][self._stays[first:last]]
        capacity = self.capacity[position]
        if not len(rows):
            return np.tile(capacity, (len(self.times), 1))
        begins, ends = occupancy.start[rows], occupancy.end[rows] + movables.width
        # What ends makes room for what begins then.
        moments = np.concatenate((ends << 1, begins << 1 | 1))
        order = sorted_order(moments)
        moments = moments[order] >> 1
        since = np.searchsorted(moments, self.times, "right")
        until = np.append(np.searchsorted(moments, self.times[1:], "left"), since[-1:])
        bounds = np.stack((since, until + 1), axis=1).reshape(-1)
        found: Ints = np.zeros((len(self.times), len(self.classes)), np.int64)
        for number, name in enumerate(self.classes):
            amounts = np.where(occupancy.whole[rows], capacity[number], occupancy.amounts(name, rows))
            levels = np.concatenate(([0], np.cumsum(np.concatenate((-amounts, amounts))[order])))
            most = np.maximum.reduceat(np.append(levels, 0), bounds)[::2]
            # Where what stays is more than there is, nothing fits, but nothing that moves is to blame.
            found[:, number] = np.maximum(capacity[number] - most, 0)
        return found


class _Search:
    """The units of each piece on each resource, with what is free beside them: less than nothing where a
    resource is short.

    What it would weigh if a unit came or went is kept for each piece; a move changes it on two resources."""

    def __init__(self, site: _Site, budget: Budget) -> None:
        self._site = site
        self._budget = budget
        pieces, times = site.pieces, site.times
        self._first = np.searchsorted(times, [each.start for each in pieces])
        self._last = np.searchsorted(times, [each.end for each in pieces])
        amounts = list(dict.fromkeys(each.amounts for each in pieces))
        self._shape = np.array([amounts.index(each.amounts) for each in pieces])
        """By piece: the number of the amounts that its units take."""
        self._amounts: Ints = np.array(
            [[dict(each).get(name, 0) for name in site.classes] for each in amounts], np.int64
        )
        self._suits: Mask = site.most.T > 0
        """By resource and piece."""
        self._scale = 1 / np.maximum(site.capacity.max(axis=0), 1)
        self._slack = site.free.copy()
        self._weight: Weights = np.ones(self._slack.shape[:2])
        self._gain: Weights = np.zeros(site.has.shape)
        """By resource and piece: what weighs less if a unit leaves."""
        self._cost: Weights = np.zeros(site.has.shape)
        """What weighs more if one comes."""
        self._back_at: Ints = np.zeros(site.has.shape, np.int64)
        """The move at which it may come back."""
        self._random = np.random.default_rng(0)
        self.share: Ints = np.zeros(site.has.shape, np.int64)
        """By resource and piece: the units there."""
        for at, piece in np.argwhere(site.has > 0).tolist():
            self._give(at, piece, int(site.has[at, piece]))
        self._weigh(np.arange(len(self.share)))

    def is_done(self) -> bool:
        return int(self._slack.min()) >= 0

    def lay(self) -> None:
        """Lay the units that have no place yet where they make the least too much. Raises CutShort where
        they are too many for the resources that are looked at."""
        for number, piece in enumerate(self._site.pieces):
            if piece.new > int(self._site.most[number].sum()):
                raise CutShort
            for _ in range(piece.new):
                cost = np.where(self._suits[:, number], self._cost[:, number], np.inf)
                best = cost.argmin()
                self._give(int(best), number, 1)
                self._weigh(np.array([best]))

    def move(self, number: int) -> None:
        """Make the best move, of equal ones any; where none is good, let what is short weigh more."""
        gains = np.where(self.share > 0, self._gain, -1)
        is_open = self._suits & (self._back_at <= number)
        costs = np.where(is_open, self._cost + _RANDOM * self._random.random(self._cost.shape), np.inf)
        best = gains.max(axis=0) - costs.min(axis=0)
        piece = int(best.argmax())
        if best[piece] <= _RANDOM:
            is_short: Mask = np.any(self._slack < 0, axis=2)
            self._weight[is_short] *= GROWTH
            self._weigh(np.flatnonzero(np.any(is_short, axis=1)))
            return
        source, target = int(gains[:, piece].argmax()), int(costs[:, piece].argmin())
        self._give(source, piece, -1)
        self._give(target, piece, 1)
        self._back_at[source, piece] = number + self._random.integers(*STAYS_AWAY)
        self._weigh(np.array([source, target]))

    def _give(self, at: int, piece: int, count: int) -> None:
        self.share[at, piece] += count
        self._slack[at, self._first[piece] : self._last[piece]] -= count * self._amounts[self._shape[piece]]

    def _weigh(self, changed: Ints) -> None:
        """Weigh what would come or go on these resources."""
        for first in range(0, len(changed), AT_ONCE):
            self._weigh_some(changed[first : first + AT_ONCE])

    def _weigh_some(self, changed: Ints) -> None:
        """Weigh for all amounts at each time first, then in the time of each piece."""
        elements = len(changed) * len(self._amounts) * self._slack[0].size
        self._budget.spend(_MOVE + of_array(elements, _WEIGHED))
        slack, weight = self._slack[changed], self._weight[changed]
        amounts = self._amounts[:, None, None]
        now = self._excess(slack)
        for kept, then in (
            (self._gain, now - self._excess(slack + amounts)),
            (self._cost, self._excess(slack - amounts) - now),
        ):
            sums = np.zeros((*then.shape[:2], then.shape[2] + 1))
            np.cumsum(then * weight, axis=2, out=sums[:, :, 1:])
            kept[changed] = (sums[self._shape, :, self._last] - sums[self._shape, :, self._first]).T

    def _excess(self, slack: Ints) -> Weights:
        """Return how much too much there is, in shares of a resource."""
        excess: Weights = np.maximum(-slack, 0) @ self._scale
        return excess


def _outcome(movables: Movables, site: _Site, share: Ints) -> Rearrangement:
    """Return the plan and the moves by which each piece has its share of each resource."""
    calendar, request = movables.calendar, movables.request
    names = [calendar.id_at(index) for index in site.indexes.tolist()]
    assigned: list[Assignment] = []
    moves: list[PlannedMove] = []
    for number, piece in enumerate(site.pieces):
        more = share[:, number] - site.has[:, number]
        reached = [(names[at], int(more[at]) * piece.slots) for at in np.flatnonzero(more > 0).tolist()]
        if piece.new:
            demand = request.demands[piece.demand]
            assigned += [
                Assignment(demand.reservation_id, name, demand.usage, slots) for name, slots in reached
            ]
            continue
        moves += _moves(
            piece, reached, {names[at]: -int(more[at]) * piece.slots for at in np.flatnonzero(more < 0)}
        )
    return rearrangement(calendar, request.interval, assigned, moves)


def _moves(piece: _Piece, reached: list[tuple[str, int]], leaving: dict[str, int]) -> Iterator[PlannedMove]:
    """Yield how the slots that leave resources come to those that are reached; as many leave as come."""
    for row in piece.allocations:
        going = min(row.slots, leaving.get(row.resource_id, 0))
        leaving[row.resource_id] = leaving.get(row.resource_id, 0) - going
        while going:
            name, slots = reached.pop()
            count = min(slots, going)
            yield PlannedMove(row, name, count)
            going -= count
            if slots > count:
                reached.append((name, slots - count))
