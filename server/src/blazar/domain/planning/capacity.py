"""The capacity of every resource in a window: how many units of each demand fit beside what is planned
already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blazar.domain.calendar.arrays import MOST, Ints
from blazar.domain.calendar.columns import ResourceColumns
from blazar.domain.calendar.window import Window
from blazar.domain.planning.candidate import Candidate, Choice
from blazar.domain.requirement.language import Mask


class Capacity:
    """The capacity that is left in a window for several candidates. It is taken for one, and can be given
    back.

    A ``cautious`` capacity counts all allocations in the window as if they were there at the same time: what
    it says is left is left, but there may be more. It needs no sorting, so it is found much faster.

    Every method costs some passes over the pool, whatever is planned."""

    def __init__(
        self,
        columns: ResourceColumns,
        window: Window,
        candidates: Sequence[Candidate],
        *,
        cautious: bool = False,
    ) -> None:
        self._columns = columns
        self._window = window
        self._in_use = window.total if cautious else window.peak
        self._candidates = candidates
        self._alone: dict[int, Ints] = {}
        self._left: dict[str, Ints] = {}
        self._planned: dict[int, Choice] = {}
        """By number of the candidate."""
        self._sums: _Sums | None = None
        """What is planned in all, by index. It is made when it is asked for: a plan for one demand needs it
        seldom."""

    @property
    def size(self) -> int:
        """Return the number of indexes."""
        return self._window.size

    def used(self) -> Mask:
        """Return where the calendar has an allocation in the window, or something is planned; don't write to
        it."""
        if not self._planned:
            return self._window.occupied
        used: Mask = self._window.occupied | (self._summed().plans > 0)
        return used

    def alone(self, number: int) -> Ints:
        """Return the capacity for a candidate when nothing is planned. The array must not be written to."""
        units = self._alone.get(number)
        if units is None:
            units = self._alone[number] = self._count(self._candidates[number])
        return units

    def units(self, number: int) -> Ints:
        """Return the capacity for a candidate for which nothing is planned, beside what is planned for the
        others."""
        candidate = self._candidates[number]
        units = self.alone(number).copy()
        if not self._planned:
            return units
        sums = self._summed()
        shared = np.flatnonzero(sums.plans)
        if candidate.is_whole:
            units[shared] = 0
            return units
        beside = units[shared]
        beside[sums.wholes[shared] > 0] = 0
        for resource_class, n in candidate.amounts:
            taken = sums.amounts.get(resource_class)
            if taken is not None:
                left = np.maximum(self.left(resource_class)[shared] - taken[shared], 0)
                np.minimum(beside, left // n, out=beside)
        units[shared] = beside
        return units

    def clear(self) -> None:
        """Forget all that is planned."""
        for number in list(self._planned):
            self.give_back(number)

    def take(self, number: int, choice: Choice) -> None:
        """Plan these slots for a candidate, which has none so far. The choice must not change afterwards."""
        if choice:
            self._planned[number] = choice
            if self._sums is not None:
                self._sums.add(self._candidates[number], choice, 1)

    def give_back(self, number: int) -> None:
        """Forget what is planned for a candidate."""
        choice = self._planned.pop(number, None)
        if choice is not None and self._sums is not None:
            self._sums.add(self._candidates[number], choice, -1)

    def left(self, resource_class: str) -> Ints:
        """Return how much of a class the calendar leaves on each resource at the worst instant; don't write
        to it."""
        left = self._left.get(resource_class)
        if left is None:
            # Less than nothing is left where a resource has lost capacity.
            left = np.maximum(self._columns.capacity(resource_class) - self._in_use(resource_class), 0)
            self._left[resource_class] = left
        return left

    def _summed(self) -> _Sums:
        if self._sums is None:
            self._sums = _Sums(self._window.size)
            for number, choice in self._planned.items():
                self._sums.add(self._candidates[number], choice, 1)
        return self._sums

    def _count(self, candidate: Candidate) -> Ints:
        units, window = candidate.units.copy(), self._window
        if candidate.is_whole:
            units[window.occupied] = 0
            return units
        units[window.taken] = 0
        if window.has_parts:
            shared = np.flatnonzero(window.occupied & (units > 0))
            for resource_class, n in candidate.amounts:
                units[shared] = np.minimum(units[shared], self.left(resource_class)[shared] // n)
        return units


class _Sums:
    """The sums of what is planned for all candidates together, by index."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.plans: Ints = np.zeros(size, np.int64)
        """How many candidates have something planned on the resource."""
        self.wholes: Ints = np.zeros(size, np.int64)
        """How many of them take it as a whole."""
        self.amounts: dict[str, Ints] = {}
        """How much of each class is planned."""

    def add(self, candidate: Candidate, choice: Choice, sign: int) -> None:
        """Add a choice, or take it away where ``sign`` is -1."""
        indexes = np.fromiter(choice.keys(), np.int64, len(choice))
        slots = np.fromiter(choice.values(), np.int64, len(choice))
        self.plans[indexes] += sign
        if candidate.is_whole:
            self.wholes[indexes] += sign
        for resource_class, n in candidate.amounts:
            if resource_class not in self.amounts:
                self.amounts[resource_class] = np.zeros(self._size, np.int64)
            # What is cut off here is more than any resource has, so no sum overflows.
            self.amounts[resource_class][indexes] += sign * n * np.minimum(slots, 2 * MOST // n)
