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

A request for a minute also needs the cleaning time before and after it. So what counts in a minute is the
largest load that the resource has within this distance. It is found by a table of the largest of 1, 2, 4, 8,
... loads that follow each other, from which the largest of any number of them is read in two looks.

The cost is one sort of two changes for each allocation of the interval, and for each question some passes
over them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from blazar.domain.calendar.arrays import MOST, Ints, sorted_order
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.lazy import lazy
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import Candidate
from blazar.domain.planning.capacity import MANY_UNITS
from blazar.domain.planning.steps import TimeAxis
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import BUFFER_ID
from blazar.domain.time import MINUTE, Interval, epoch

Places = npt.NDArray[np.int32]
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
        rows = rows[matching[occupancy.index[rows]]]
        budget.spend(of_array(len(occupancy.page)) + of_array(len(rows)))
        self._rows = rows
        self._index = occupancy.index[rows]
        self._whole: Mask = occupancy.whole[rows]
        begin, end = occupancy.start[rows], occupancy.end[rows]
        self._buffered: Mask = occupancy.lease[rows] == hash(BUFFER_ID)
        self._in_use: Mask = (begin <= epoch(now)) & ~self._buffered
        end += 59
        for moments in (begin, end):
            moments //= 60
            moments -= first
            np.clip(moments, 0, self._length, out=moments)
        self._begin, self._end = begin, end
        self._places, moments = self._moments()
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
        if resource_class is None:
            counted = self._in_use if in_use else ~self._buffered
            units = np.minimum(self._loads.after_each(counted.astype(np.int64)), 1)
            return self._summed(self._loads, units, np.zeros(self._columns.size, np.int64))
        chosen = np.flatnonzero(self._in_use if in_use else ~self._buffered)
        capacity = self._columns.capacity(resource_class)[self._index[chosen]]
        amounts = np.where(self._whole[chosen], capacity, self._amounts(resource_class)[chosen])
        changes = np.zeros(len(self.axis.moments) + 1, np.int64)
        np.add.at(changes, self._places[self._begin[chosen]], amounts)
        np.subtract.at(changes, self._places[self._end[chosen]], amounts)
        return np.cumsum(changes)[:-1]

    def fit(self, candidate: Candidate) -> Fit:
        """Return how many units fit of a candidate that takes something. Those that it has already, and its
        grouping, are not looked at."""
        self._spend()
        eligible = candidate.matching & self._columns.reservable & self._matching
        alone = np.where(eligible, 1 if candidate.is_whole else MANY_UNITS, 0)
        for name, n in candidate.amounts:
            np.minimum(alone, self._columns.capacity(name) // n, out=alone)
        loads = self._widened
        units = alone[loads.index]
        if candidate.is_whole:
            units[loads.after_each(np.ones(len(self._rows), np.int64)) > 0] = 0
        for name, n in candidate.amounts:
            self._spend()
            taken = self._amounts(name)
            taken[self._whole] = MOST
            left = self._columns.capacity(name)[loads.index]
            left -= loads.after_each(taken)
            np.maximum(left, 0, out=left)
            if n > 1:
                left //= n
            np.minimum(units, left, out=units)
        return Fit(self._summed(loads, units, alone), int(loads.least(units, alone).sum()))

    def _amounts(self, resource_class: str) -> Ints:
        return self._occupancy.amounts(resource_class, self._rows)

    def _summed(self, loads: _Loads, units: Ints, alone: Ints) -> Ints:
        """Return from each moment on the sum of all resources, which have these units after each change, and
        the units of ``alone`` before the first."""
        changes = np.zeros(len(self.axis.moments) + 1, np.int64)
        np.add.at(changes, self._places[loads.minute], loads.differences(units, alone))
        changes[0] += alone.sum()
        return np.cumsum(changes)[:-1]

    def _moments(self) -> tuple[Places, Ints]:
        """Return for each minute the place of the last moment up to it, and the minutes of the moments.

        What changes before the interval counts at its first moment; what changes after it, behind the
        last."""
        is_moment = np.zeros(self._length + 1, bool)
        is_moment[self._margin] = True
        for minutes in (self._begin, self._end):
            for distance in {0, -self._margin, self._margin}:
                is_moment[np.clip(minutes + distance, self._margin, self._length)] = True
        until = self._margin + self._minutes
        is_moment[until:] = False
        moments = np.flatnonzero(is_moment)
        places: Places = np.cumsum(is_moment, dtype=np.int32)
        places -= 1
        np.maximum(places, 0, out=places)
        places[until:] = len(moments)
        return places, moments

    def _spend(self) -> None:
        self._budget.spend(of_array(2 * len(self._rows) + self._columns.size))

    @lazy
    def _loads(self) -> _Loads:
        self._budget.spend(of_array(2 * len(self._rows), _SORT))
        return _Loads(self._index, self._begin, self._end, self._length)

    @lazy
    def _widened(self) -> _Loads:
        if not self._margin:
            return self._loads
        self._budget.spend(of_array(4 * len(self._rows), _SORT))
        return _WidenedLoads(self._loads, self._margin, self._minutes)


class _Loads:
    """The places of changes, each once, in the order of resources and then of time. Minutes count from zero;
    at ``until`` there are only ends.

    Arrays are written to in place wherever that can be done: new memory costs as much as the work on it."""

    def __init__(self, index: npt.NDArray[np.int32], begin: Ints, end: Ints, until: int) -> None:
        self.bits = until.bit_length()
        keys = np.empty(2 * len(index), np.int64)
        keys.reshape(2, -1)[:] = index
        keys <<= self.bits
        keys[: len(index)] |= begin
        keys[len(index) :] |= end
        self._order = sorted_order(keys)
        keys = keys[self._order]
        self._last = np.flatnonzero(_is_last(keys))
        self._place(keys[self._last])

    def _place(self, keys: Ints) -> None:
        self.keys = keys
        """One number for resource and minute, which sorts by both."""
        self.index: Ints = keys >> self.bits
        self.minute: Ints = keys & ((1 << self.bits) - 1)
        self._first_of_each = np.flatnonzero(np.roll(_is_last(self.index), 1))

    def after_each(self, amounts: Ints) -> Ints:
        """Return the load after each change, given the amounts that the allocations take."""
        changes = np.concatenate((amounts, -amounts))[self._order]
        np.cumsum(changes, out=changes)  # every begin has its end, so each resource begins at 0
        loads: Ints = changes[self._last]
        return loads

    def differences(self, units: Ints, alone: Ints) -> Ints:
        """Return the units after each change less those before it, which are ``alone`` before the first."""
        before = np.roll(units, 1)
        before[self._first_of_each] = alone[self.index[self._first_of_each]]
        return np.subtract(units, before, out=before)

    def least(self, units: Ints, alone: Ints) -> Ints:
        """Return the fewest units that each resource has at any time."""
        least = alone.copy()
        if len(units):
            changed = self.index[self._first_of_each]
            fewest = np.minimum.reduceat(units, self._first_of_each)
            least[changed] = np.minimum(least[changed], fewest)
        return least


class _WidenedLoads(_Loads):
    """The largest loads within a margin before and after each minute. They change where a load comes within
    the margin, and where it leaves it.

    Loads come and leave in their own order. So both are merged in one pass, and the loads that have come and
    not left, which count, are those between two running numbers: no search is needed."""

    def __init__(self, loads: _Loads, margin: int, minutes: int) -> None:
        self.bits = loads.bits
        self._loads = loads
        until = margin + minutes
        keys = np.empty(2 * len(loads.minute), np.int64)
        comes, leaves = keys.reshape(2, -1)
        np.clip(loads.minute - margin, margin, until, out=comes)
        np.minimum(loads.minute + margin, until, out=leaves)
        keys.reshape(2, -1)[:] |= loads.index << self.bits
        keys <<= 1
        leaves |= 1  # the last bit tells which of the two it is
        keys.sort(kind="stable")  # merges what is in order already
        have_left = np.cumsum(keys & 1)
        keys >>= 1
        counts = np.flatnonzero(_is_last(keys) & (keys & ((1 << self.bits) - 1) < until))
        have_left = have_left[counts]
        self._place(keys[counts])
        # The load that was there last before the margin still counts, if it is one of the same resource.
        first_of_each = np.searchsorted(loads.keys, self.keys[self._first_of_each] >> self.bits << self.bits)
        lengths = np.diff(np.append(self._first_of_each, len(self.keys)))
        self._first: Ints = np.maximum(have_left - 1, np.repeat(first_of_each, lengths))
        last = counts - have_left  # all others have come
        width = last - self._first + 1
        self._level: Ints = np.frexp(width.astype(np.float64))[1].astype(np.int64) - 1
        self._second: Ints = last - (1 << self._level) + 1

    def after_each(self, amounts: Ints) -> Ints:
        table = [self._loads.after_each(amounts)]
        for level in range(int(self._level.max(initial=0))):
            table.append(_larger(table[-1], 1 << level))
        largest = np.stack(table)
        return np.maximum(largest[self._level, self._first], largest[self._level, self._second])


def _is_last(values: Ints) -> Mask:
    """Return where the next value is another one, given values in order."""
    is_last = np.ones(len(values), bool)
    np.not_equal(values[:-1], values[1:], out=is_last[:-1])
    return is_last


def _larger(loads: Ints, distance: int) -> Ints:
    """Return the larger of each load and the one at this distance behind it."""
    larger = loads.copy()
    np.maximum(loads[:-distance], loads[distance:], out=larger[:-distance])
    return larger
