"""What is occupied in one stretch of time: which resources are taken, and how much of the others is in use."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from blazar.domain.facts import Facts, Ints
from blazar.domain.occupancy import Occupancy
from blazar.domain.requirement import Mask


class Window:
    """The occupancy of ``[start, end)``; arrays are indexed by place. To be used before the calendar changes."""

    def __init__(self, facts: Facts, occupancy: Occupancy, start: int, end: int, ignore: Collection[str] = ()) -> None:
        self.size = facts.size
        rows = occupancy.overlapping(start, end, ignore)
        places = occupancy.places(rows)
        whole = occupancy.whole(rows)
        self.occupied: Mask = np.zeros(self.size, bool)
        """Where any allocation overlaps."""
        self.occupied[places] = True
        self.taken: Mask = np.zeros(self.size, bool)
        """Where an allocation of the whole resource overlaps."""
        self.taken[places[whole]] = True
        self._occupancy = occupancy
        self._rows = rows[~whole]
        self._places = places[~whole]
        self._bounds = (start, end)
        self._totals: dict[str, Ints] = {}
        self._peaks: dict[str, Ints] = {}
        self._sweep: _Sweep | None = None

    def total(self, resource_class: str) -> Ints:
        """How much of the class amount claims take of each resource in all: never less than at the worst instant, and
        found much faster. The array must not be written to.
        """
        if resource_class not in self._totals:
            amounts = self._occupancy.amounts(resource_class, self._rows)
            self._totals[resource_class] = np.bincount(self._places, amounts, self.size).astype(np.int64)
        return self._totals[resource_class]

    def peak(self, resource_class: str) -> Ints:
        """How much of the class amount claims take of each resource at the worst instant.

        What ends at t is gone when another starts at t. The array must not be written to.
        """
        if resource_class not in self._peaks:
            if self._sweep is None:
                starts, ends = self._occupancy.starts(self._rows), self._occupancy.ends(self._rows)
                self._sweep = _Sweep(self.size, self._places, starts, ends, *self._bounds)
            amounts = self._occupancy.amounts(resource_class, self._rows)
            self._peaks[resource_class] = self._sweep.peak(self.total(resource_class), amounts)
        return self._peaks[resource_class]


class _Sweep:
    """The order in which allocations come and go, per place; shared by all resource classes.

    Where all allocations of a place have an instant in common the peak is their sum; only the others are swept.
    """

    def __init__(
        self, size: int, places: npt.NDArray[np.int32], starts: Ints, ends: Ints, start: int, end: int
    ) -> None:
        starts, ends = np.maximum(starts, start), np.minimum(ends, end)
        last_start = np.full(size, start, np.int64)
        np.maximum.at(last_start, places, starts)
        first_end = np.full(size, end, np.int64)
        np.minimum.at(first_end, places, ends)
        self._swept = np.flatnonzero((last_start >= first_end)[places])
        swept = places[self._swept].astype(np.int64)
        # One number that sorts by place, then time, then ends before starts.
        coming = (swept << 40) | ((starts[self._swept] - start) << 1) | 1
        going = (swept << 40) | ((ends[self._swept] - start) << 1)
        moments = np.concatenate((coming, going))
        self._order = np.argsort(moments)
        in_order = moments[self._order] >> 40
        self._groups = np.flatnonzero(np.diff(in_order, prepend=-1))
        self._group_places = in_order[self._groups]

    def peak(self, total: Ints, amounts: Ints) -> Ints:
        peak = total.copy()
        if len(self._swept):
            changes = np.concatenate((amounts[self._swept], -amounts[self._swept]))[self._order]
            # What comes goes again, so each place starts from zero.
            peak[self._group_places] = np.maximum.reduceat(np.cumsum(changes), self._groups)
        return peak
