"""Which starts can suit a request at all: free resources of each host class, counted over time.

The idea: resources that are alike for all demands of the request form a *host class*. Each allocation rules
out a stretch of starts on its resource: from its begin less the wanted duration, to its end. Where the
stretches of one resource are joined, the number of stretches over a start is the number of resources that are
not free then. Two sorted lists (where stretches begin and where they end) answer that for all starts and
classes at once.

Example: hosts 1 and 2 are taken from 8 to 12 and from 10 to 14, and two hosts are wanted for three hours.
Host 1 rules out the starts after 5 and before 12, host 2 those after 7 and before 14. At 12 one host is free,
at 14 two are.

A start is let through where the counts allow the demands: each of those for whole resources, all of them
together, and each other one beside them. The whole resources are taken where they cost it least. Of a
resource that others have a part of, no more is counted than the smallest part leaves. A start that is held
back suits the request in no way; one that is let through may not suit it either.

The cost is a sort of the allocations ahead, for the first question, and two looks into sorted lists for each
start and class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blazar.domain.calendar.arrays import Ints, sorted_order
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.lazy import lazy
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import Candidate
from blazar.domain.planning.demand import Grouping
from blazar.domain.requirement.language import Mask

MOST_CLASSES = 256
"""Where the demands together make more classes, each demand is looked at by itself."""
LEVELS = 16
"""How many different numbers of units are told apart; those in between are rounded up."""
_SORT = 4
"""Passes that a sort of the allocations is worth."""
_LOOKS = 4
"""Passes that a look into a sorted list is worth."""
_MOST_UNITS = 2**31
_BITS = 40
"""Enough for all seconds up to the year 9999."""
_TIME = (1 << _BITS) - 1


class Ahead:
    """The allocations that may be in the way of a start: their rows, and the starts that each rules out, from
    ``lows`` to before ``highs``."""

    def __init__(self, calendar: CalendarSnapshot, rows: Ints, duration: int, cleaning: int) -> None:
        occupancy = calendar.occupancy
        self.calendar = calendar
        self.rows = rows
        self.index: Ints = occupancy.index[rows].astype(np.int64)
        self.lows: Ints = np.maximum(occupancy.start[rows] - duration - cleaning + 1, 0)
        self.highs: Ints = occupancy.end[rows] + cleaning
        self.whole: Mask = occupancy.whole[rows]

    def free(self, classes: Ints, among: Mask, budget: Budget) -> FreeCounts:
        """Return how many resources of each class have none of these allocations. ``classes`` tells the class
        by index, -1 for none."""
        chosen = among & (classes[self.index] >= 0)
        budget.spend(of_array(len(self.rows), 2) + of_array(int(np.count_nonzero(chosen)), _SORT))
        return FreeCounts(classes, self.index[chosen], self.lows[chosen], self.highs[chosen])


class FreeCounts:
    """The number of free resources of each class, for each start."""

    def __init__(self, classes: Ints, indexes: Ints, lows: Ints, highs: Ints) -> None:
        self._sizes: Ints = np.bincount(classes[classes >= 0])
        order = _order(indexes, lows)
        indexes = indexes[order] << _BITS
        # One number holds index and time: what is reached on one index is less than anything on the next.
        lows, reach = lows[order] | indexes, np.maximum.accumulate(highs[order] | indexes)
        is_first = np.ones(len(lows), bool)
        is_first[1:] = lows[1:] > reach[:-1]
        is_last = np.ones(len(lows), bool)
        is_last[:-1] = is_first[1:]
        self._begins = _by_class(lows[is_first], classes)
        self._ends = _by_class(reach[is_last], classes)

    def at(self, starts: Ints) -> Ints:
        """Return the numbers by class and start."""
        keys = np.arange(len(self._sizes), dtype=np.int64)[:, None] << _BITS | starts
        # In the order of classes, what is ruled out in those before has begun and ended.
        ruled_out = np.searchsorted(self._begins, keys, "right") - np.searchsorted(self._ends, keys, "right")
        free: Ints = self._sizes[:, None] - ruled_out
        return free


def _order(indexes: Ints, moments: Ints) -> Ints:
    """Return the order by index, then moment."""
    since: Ints = moments - moments.min(initial=_TIME)
    bits = int(since.max(initial=0)).bit_length()
    return sorted_order(since | indexes << bits)


def _by_class(moments: Ints, classes: Ints) -> Ints:
    keys = classes[moments >> _BITS] << _BITS | moments & _TIME
    return np.sort(keys)


class Gate:
    """What lets through the starts that may suit all candidates."""

    def __init__(self, ahead: Ahead, candidates: Sequence[Candidate], budget: Budget) -> None:
        self._ahead = ahead
        self._budget = budget
        self._candidates = candidates
        self._wholes = [number for number, each in enumerate(candidates) if each.is_whole]
        self._parts = [number for number, each in enumerate(candidates) if not each.is_whole]
        self._taking = sum(candidates[number].least for number in self._wholes)
        budget.spend(of_array(ahead.calendar.columns.size, 8 * len(candidates)))
        units = [_counted(each, each.units) for each in candidates]
        beside = [self._beside(each) for each in candidates]
        self._classes, firsts = _classes([*units, *beside])
        self._units = [each[firsts] for each in units]
        self._beside_others = [each[firsts] for each in beside]

    @property
    def classes(self) -> int:
        return len(self._units[0])

    def passes_wholes(self, starts: Ints) -> Mask:
        """Return at which of the starts the demands for whole resources may have them."""
        passes = np.ones(len(starts), bool)
        if not self._taking:
            return passes
        free = self._takeable_free.at(starts)
        self._budget.spend(of_array(free.size, _LOOKS))
        for number in self._wholes:
            wanted = self._candidates[number].least
            passes &= self._units[number][self._takeable] @ free >= wanted
        passes &= free.sum(axis=0) >= self._taking
        return passes

    def passes_parts(self, starts: Ints) -> Mask:
        """Return at which of the starts each other demand may have its parts beside them."""
        passes = np.ones(len(starts), bool)
        if not self._parts:
            return passes
        free = self._free.at(starts)
        shared = None if self._untaken is self._free else self._untaken.at(starts) - free
        self._budget.spend(of_array(free.size, _LOOKS * (1 + len(self._parts))))
        takeable = free * self._takeable[:, None] if self._taking else None
        for number in self._parts:
            units = self._units[number]
            most = units @ free
            if shared is not None:
                most += self._beside_others[number] @ shared
            if takeable is not None:
                most -= _least_loss(units, takeable, self._taking)
            passes &= most >= _wanted(self._candidates[number])
        return passes

    @lazy
    def _takeable(self) -> Mask:
        """Return which classes a demand for whole resources may take."""
        wholes = [self._units[number] > 0 for number in self._wholes]
        return np.logical_or.reduce(wholes) if wholes else np.zeros(self.classes, bool)

    @lazy
    def _takeable_free(self) -> FreeCounts:
        """Return how many of those have no allocation; all other classes are left out."""
        new = np.where(self._takeable, np.cumsum(self._takeable) - 1, -1)
        # The last entry is for indexes without a class, which have -1.
        return self._counts(np.append(new, -1)[self._classes], np.ones(len(self._ahead.rows), bool))

    @lazy
    def _free(self) -> FreeCounts:
        """Return how many resources have no allocation."""
        return self._counts(self._classes, np.ones(len(self._ahead.rows), bool))

    @lazy
    def _untaken(self) -> FreeCounts:
        """Return of how many resources others have no more than parts."""
        if self._ahead.whole.all():
            return self._free
        return self._counts(self._classes, self._ahead.whole)

    def _counts(self, classes: Ints, among: Mask) -> FreeCounts:
        return self._ahead.free(classes, among, self._budget)

    def _beside(self, candidate: Candidate) -> Ints:
        """Return by index what counts, at the most, where an allocation of a part is in the way."""
        if candidate.is_whole:
            return _counted(candidate, candidate.units)
        ahead, columns = self._ahead, self._ahead.calendar.columns
        if ahead.whole.all():
            return np.zeros(columns.size, np.int64)
        indexes, rows = ahead.index[~ahead.whole], ahead.rows[~ahead.whole]
        self._budget.spend(of_array(len(rows), 4 * len(candidate.amounts)))
        left = candidate.units[indexes]
        for name, n in candidate.amounts:
            over = columns.capacity(name)[indexes] - ahead.calendar.occupancy.amounts(name, rows)
            np.minimum(left, np.maximum(over, 0) // n, out=left)
        most = np.zeros(columns.size, np.int64)
        np.maximum.at(most, indexes, left)
        return _counted(candidate, most)


def gates(ahead: Ahead, candidates: Sequence[Candidate], budget: Budget) -> Sequence[Gate]:
    """Return what each start must pass: one gate for all candidates together, where their classes are few."""
    together = Gate(ahead, candidates, budget)
    if together.classes <= MOST_CLASSES or len(candidates) == 1:
        return [together]
    return [Gate(ahead, [each], budget) for each in candidates]


def _counted(candidate: Candidate, units: Ints) -> Ints:
    """Return what a resource counts on which so many units fit: with TOGETHER, one where all do."""
    if candidate.is_whole:
        return units
    match candidate.demand.grouping:
        case Grouping.TOGETHER:
            return (units >= max(candidate.least, 1)).astype(np.int64)
        case Grouping.APART:
            return np.minimum(units, 1)
        case _:
            return _rounded_up(np.minimum(units, _MOST_UNITS))


def _wanted(candidate: Candidate) -> int:
    together = candidate.demand.grouping is Grouping.TOGETHER
    return min(candidate.least, 1) if together else candidate.least


def _rounded_up(units: Ints) -> Ints:
    """Return the units with no more than LEVELS different numbers."""
    levels = different(units)
    if len(levels) > LEVELS:
        levels = levels[np.linspace(0, len(levels) - 1, LEVELS).astype(np.int64)]
    rounded: Ints = levels[np.searchsorted(levels, units)]
    return rounded


def different(numbers: Ints) -> Ints:
    """Return the different ones in order: as numpy.unique does, which is many times slower. Small numbers are
    counted, large ones sorted."""
    if len(numbers) and numbers.min() >= 0 and numbers.max() < len(numbers):
        return np.flatnonzero(np.bincount(numbers))
    in_order = np.sort(numbers)
    is_new = np.ones(len(in_order), bool)
    is_new[1:] = in_order[1:] != in_order[:-1]
    different: Ints = in_order[is_new]
    return different


def _classes(numbers: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return the class of each index, and an index of each class. Indexes at which all numbers are zero are
    in none."""
    classes = np.zeros(len(numbers[0]), np.int64)
    for each in numbers:
        levels = different(each)
        classes = classes * len(levels) + np.searchsorted(levels, each)
        classes = np.searchsorted(different(classes), classes)
    firsts = np.zeros(len(different(classes)), np.int64)
    firsts[classes] = np.arange(len(classes))
    useful = np.logical_or.reduce([each[firsts] > 0 for each in numbers])
    return np.where(useful, np.cumsum(useful) - 1, -1)[classes], firsts[useful]


def _least_loss(units: Ints, free: Ints, taking: int) -> Ints:
    """Return how many units are lost at each start, at the least, where so many free resources are taken
    whole."""
    order = np.argsort(units)
    free = free[order]
    before = np.cumsum(free, axis=0) - free
    taken = np.clip(taking - before, 0, free)
    loss: Ints = units[order] @ taken
    return loss
