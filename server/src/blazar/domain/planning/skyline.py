"""The capacity of a pool over time: in each minute of an interval, how many units of a demand fit on all
resources together, and how much is reserved.

The idea: the load of a resource changes only where an allocation begins or ends. One sort by resource and
time puts these changes in order, and a running sum gives the load after each of them. From the load follows
how many units fit on the resource; so each change adds some units to the sum of the pool from its minute on,
or takes some away. Summed up in the order of time, these differences are the curve.

Example: two hosts of 8 VCPUs; 6 of host 1 are taken from 9:00 to 10:00. A unit takes 4. Host 1 has room for
2 units, for none from 9:00, and for 2 from 10:00: so 9:00 counts -2, and 10:00 counts +2. The curve begins
at 4 and is 2 between 9:00 and 10:00. The 10 free VCPUs would say 2 as well; but with 5 taken of each host,
6 are free, and no unit fits anywhere.

A request for a minute also needs the cleaning time before and after it. So what counts in a minute are the
fewest units that fit on the resource within this distance. That only moves the changes: what is taken is
taken by the cleaning time earlier, and what is given back is given back by so much later. A gap, where more
units fit for no longer than both times together, is closed before.

Example: with a cleaning time of 30 minutes, host 1 has no room from 8:30 to 10:30. If 6 of its VCPUs are
taken again at 10:50, the 50 minutes between are a gap: its 2 units would be given back at 10:30 and be taken
at 10:20.

The cost is one sort of two changes for each allocation of the interval, and for each question some passes
over them. It sorts by the *tick*, the number of a minute among those in which anything changes: the fewer
bits a key has, the faster is its sort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce

import numpy as np
import numpy.typing as npt

from blazar.domain.calendar.arrays import MOST, Ints, sorted_order
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.lazy import lazy
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import MANY_UNITS, Candidate
from blazar.domain.planning.steps import TimeAxis
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import BUFFER_ID
from blazar.domain.time import MINUTE, Interval, epoch

Numbers = npt.NDArray[np.int32]
_SORT = 3
"""Steps of a sort of a thousand changes."""


@dataclass(frozen=True, eq=False)
class Fit:
    """How many units of a demand fit on all resources together."""

    values: Ints
    """From each moment of the skyline's axis on."""
    throughout: int
    """How many fit in the whole interval, each on one resource from the start to the end."""


class Skyline:
    """The loads of the resources that ``matching`` names, in each minute of an interval of whole minutes.

    ``cleaning`` is kept free around what is asked for. An allocation counts in every minute that it touches.
    It is in use where it has begun by ``now``. Methods raise CutShort."""

    def __init__(
        self,
        calendar: CalendarSnapshot,
        interval: Interval,
        cleaning: timedelta,
        matching: Mask,
        now: datetime,
        budget: Budget,
    ) -> None:
        self._columns = calendar.columns
        self._occupancy = occupancy = calendar.occupancy
        self._matching = matching
        self._budget = budget
        self._margin = -(-cleaning // MINUTE)
        self._minutes = interval.duration // MINUTE
        self._length = self._minutes + 2 * self._margin
        """The minutes of the interval and of the cleaning time around it."""
        first = epoch(interval.start) // 60 - self._margin
        rows = occupancy.overlapping(first * 60, (first + self._length) * 60)
        index = occupancy.index[rows]
        budget.spend(of_array(len(occupancy.page)) + of_array(len(rows)))
        if not (matches := matching[index]).all():
            rows, index = rows[matches], index[matches]
        self._rows = rows
        self._index: Ints = index.astype(np.int64)
        self._whole: Mask = occupancy.whole[rows]
        begin, end = occupancy.start[rows], occupancy.end[rows]
        self._buffered: Mask = (occupancy.lease == hash(BUFFER_ID))[rows]
        self._begun = np.flatnonzero((begin <= epoch(now)) & ~self._buffered)
        end += 59
        for moments in (begin, end):
            moments //= 60
            moments -= first
            np.clip(moments, 0, self._length, out=moments)
        ticks, self._ticks = _numbered(self._length, (begin, end, np.array([self._margin])))
        self._begin, self._end = ticks[begin], ticks[end]
        moments, (self._earlier, self._places, self._later) = self._moments()
        self.axis = TimeAxis(interval.start, self._minutes, moments - self._margin)

    def total(self, resource_class: str | None) -> int:
        """Return how much of the class the resources have; without a class, how many they are."""
        if resource_class is None:
            return int(np.count_nonzero(self._matching))
        return int(self._columns.capacity(resource_class)[self._matching].sum())

    def buffer(self, resource_class: str | None) -> int:
        """Return how much of the class the buffer keeps; without a class, how many resources."""
        kept = np.zeros(self._columns.size, bool)
        kept[self._index[self._buffered]] = True
        amounts = kept if resource_class is None else self._columns.capacity(resource_class)[kept]
        return int(amounts.sum())

    def reserved(self, resource_class: str | None, *, in_use: bool = False) -> Ints:
        """Return from each moment on how much of the class is allocated: all of it where a resource is taken
        as a whole. Without a class, return how many resources have an allocation. ``in_use`` counts what has
        begun."""
        self._spend()
        rows = self._begun if in_use else self._reserved
        if resource_class is None:
            loads = self._loads_of(rows)
            units = np.minimum(loads.count(), 1)
            nothing = np.zeros(self._columns.size, np.int64)
            return self._summed(loads.place, loads.differences(units, nothing))
        amounts = self._amounts(resource_class)[rows]
        whole = np.flatnonzero(self._whole[rows])
        amounts[whole] = self._columns.capacity(resource_class)[self._index[rows][whole]]
        changes = self._no_changes()
        np.add.at(changes, self._places[self._begin[rows]], amounts)
        np.subtract.at(changes, self._places[self._end[rows]], amounts)
        return np.cumsum(changes)[:-1]

    def fit(self, candidate: Candidate) -> Fit:
        """Return how many units fit of a candidate: MANY_UNITS on each resource where it takes nothing. Those
        that it has already, and its grouping, are not looked at."""
        self._spend()
        eligible = candidate.matching & self._columns.reservable & self._matching
        alone = np.where(eligible, 1 if candidate.is_whole else MANY_UNITS, 0)
        for name, n in candidate.amounts:
            np.minimum(alone, self._columns.capacity(name) // n, out=alone)
        loads = self._loads
        if candidate.is_whole:
            units = (loads.count() == 0).astype(np.int64)
        elif candidate.amounts:
            units = reduce(np.minimum, (self._units(*each) for each in candidate.amounts))
        else:
            units = alone[loads.index]
        if (eligible != self._matching).any():
            units[~eligible[loads.index]] = 0
        throughout = int(loads.least(units, alone).sum())
        differences = loads.differences(units, alone)
        if self._margin:
            places, differences = self._with_cleaning(differences)
        else:
            places = loads.place
        return Fit(self._summed(places, differences, int(alone.sum())), throughout)

    def _units(self, resource_class: str, n: int) -> Ints:
        """Return how many times so much of the class is left after each change."""
        self._spend()
        taken = self._amounts(resource_class)
        taken[self._whole] = MOST
        units = self._columns.capacity(resource_class)[self._loads.index]
        units -= self._loads.after_each(taken)
        np.maximum(units, 0, out=units)
        if n > 1:
            units //= n
        return units

    def _with_cleaning(self, differences: Ints) -> tuple[Numbers, Ints]:
        """Return the places of the changes, moved by the cleaning time, and the changes."""
        self._spend()
        loads, longest = self._loads, 2 * self._margin
        # Changes of different resources are further apart than a gap is long.
        times = loads.index * (self._length + longest + 1)
        times += self._ticks[loads.tick]
        changes, differences = without_gaps(times, differences, longest, self._budget)
        tick = loads.tick[changes]
        return np.where(differences > 0, self._later[tick], self._earlier[tick]), differences

    def _amounts(self, resource_class: str) -> Ints:
        return self._occupancy.amounts(resource_class, self._rows)

    def _summed(self, places: Numbers, differences: Ints, first: int = 0) -> Ints:
        """Return the sum from each moment on, which is ``first`` before all differences."""
        changes = self._no_changes()
        changes[0] = first
        np.add.at(changes, places, differences)
        return np.cumsum(changes)[:-1]

    def _no_changes(self) -> Ints:
        """Return zeros: one for each moment, and one for what changes behind the last."""
        return np.zeros(len(self.axis.moments) + 1, np.int64)

    def _moments(self) -> tuple[Ints, Sequence[Numbers]]:
        """Return the minutes of the moments, and by tick the place of the moment by the cleaning time before
        it, at it, and by so much after it.

        What changes before the interval counts at its first moment; what changes after it, behind the
        last."""
        start, until = self._margin, self._margin + self._minutes
        if not self._margin:
            count = int(np.searchsorted(self._ticks, until))
            places = np.minimum(np.arange(len(self._ticks), dtype=np.int32), count)
            return self._ticks[:count], [places] * 3
        minutes = [np.clip(self._ticks + moved, start, until) for moved in (-self._margin, 0, self._margin)]
        places, moments = _numbered(until, (*minutes, np.array([start, until])))
        return moments[:-1], [places[each] for each in minutes]

    def _spend(self) -> None:
        self._budget.spend(of_array(2 * len(self._rows) + self._columns.size))

    @lazy
    def _reserved(self) -> Ints | slice:
        """Return which of the allocations are not of the buffer."""
        return np.flatnonzero(~self._buffered) if self._buffered.any() else slice(None)

    @lazy
    def _loads(self) -> _Loads:
        self._budget.spend(of_array(2 * len(self._rows), _SORT))
        return _Loads(self._index, self._begin, self._end, self._places)

    def _loads_of(self, rows: Ints | slice) -> _Loads:
        """Return the loads of some of the allocations."""
        if isinstance(rows, slice):
            return self._loads
        self._budget.spend(of_array(2 * len(rows), _SORT))
        return _Loads(self._index[rows], self._begin[rows], self._end[rows], self._places)


class _Loads:
    """The changes of loads, in the order of resources and then of ticks.

    At a tick, ends come before begins: the loads between them are no larger than the one after all of them.

    Arrays are written to in place wherever that can be done: new memory costs as much as the work on it."""

    def __init__(self, index: Ints, begin: Numbers, end: Numbers, places: Numbers) -> None:
        bits = int(end.max(initial=0)).bit_length()
        keys = np.empty(2 * len(index), np.int64)
        ends, begins = keys.reshape(2, -1)
        np.left_shift(index, bits, out=ends)
        np.bitwise_or(ends, begin, out=begins)
        ends |= end
        self._order = sorted_order(keys)
        self._unsorted = keys
        self._after: Ints = keys[self._order]
        self.index: Ints = self._after >> bits
        self.tick: Ints = self._after & ((1 << bits) - 1)
        self.place: Numbers = places[self.tick]
        """Of the moment of each change."""
        self._first_of_each = np.flatnonzero(np.roll(_is_last(self.index), 1))

    def after_each(self, amounts: Ints) -> Ints:
        """Return the load after each change, given the amounts that the allocations take. The next call
        writes to the same array."""
        ends, begins = self._unsorted.reshape(2, -1)
        np.negative(amounts, out=ends)
        begins[:] = amounts
        # To "raise" where a place is not there, numpy would take another copy.
        np.take(self._unsorted, self._order, out=self._after, mode="clip")
        # Every begin has its end, so each resource begins at 0.
        return np.cumsum(self._after, out=self._after)

    def count(self) -> Ints:
        """Return how many allocations there are after each change."""
        return self.after_each(np.ones(len(self._order) // 2, np.int64))

    def differences(self, units: Ints, alone: Ints) -> Ints:
        """Return the units after each change less those before it, which are ``alone`` before the first. The
        array is that of ``after_each``."""
        differences, first = self._after, self._first_of_each
        np.subtract(units[1:], units[:-1], out=differences[1:])
        differences[first] = units[first] - alone[self.index[first]]
        return differences

    def least(self, units: Ints, alone: Ints) -> Ints:
        """Return the fewest units that each resource has at any time."""
        least = alone.copy()
        if len(units):
            changed = self.index[self._first_of_each]
            fewest = np.minimum.reduceat(units, self._first_of_each)
            least[changed] = np.minimum(least[changed], fewest)
        return least


def without_gaps(times: Ints, differences: Ints, longest: int, budget: Budget) -> tuple[Ints, Ints]:
    """Return which changes of a number are left, and how large they are, where its gaps are closed that last
    no longer than ``longest``.

    ``times`` are in order. A rise and a fall that follow each other so soon enclose a gap, which the smaller
    of the two closes. That may leave a rise and a fall that follow each other now, and so on: as often, at
    the most, as there are minutes in a gap."""
    changes = np.flatnonzero(np.roll(_is_last(times), 1))
    differences = np.add.reduceat(differences, changes)
    while True:
        left = np.flatnonzero(differences)
        changes, differences = changes[left], differences[left]
        budget.spend(of_array(len(changes), 3))
        rises = np.flatnonzero((differences[:-1] > 0) & (differences[1:] < 0))
        rises = rises[times[changes[rises + 1]] - times[changes[rises]] <= longest]
        if not len(rises):
            return changes, differences
        height = np.minimum(differences[rises], -differences[rises + 1])
        differences[rises] -= height
        differences[rises + 1] += height


def _numbered(last: int, several: Sequence[Ints]) -> tuple[Numbers, Ints]:
    """Return by minute, up to the last one, its number among these minutes, which means nothing for any other
    one; and the minutes in order, each once."""
    is_among = np.zeros(last + 1, bool)
    for minutes in several:
        is_among[minutes] = True
    found = np.flatnonzero(is_among)
    numbers: Numbers = np.empty(last + 1, np.int32)
    numbers[found] = np.arange(len(found))
    return numbers, found


def _is_last(values: Ints) -> Mask:
    """Return where the next value is another one, given values in order."""
    is_last = np.ones(len(values), bool)
    np.not_equal(values[:-1], values[1:], out=is_last[:-1])
    return is_last
