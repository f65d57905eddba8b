"""The occupancy of one interval: which resources are taken, and how much of the others is in use."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from blazar.domain.calendar.arrays import Ints, sorted_order
from blazar.domain.calendar.columns import ResourceColumns
from blazar.domain.calendar.occupancy import Occupancy
from blazar.domain.requirement.language import Mask


class Window:
    """The occupancy of ``[start, end)``, in seconds since 1970-01-01 UTC; arrays are indexed by index."""

    def __init__(
        self,
        columns: ResourceColumns,
        occupancy: Occupancy,
        start: int,
        end: int,
        ignore: Collection[str] = (),
        bounds: Mapping[int, tuple[int, int]] | None = None,
        without: Mask | None = None,
    ) -> None:
        """Leave out the rows that are marked in ``without``."""
        self.size = columns.size
        rows = occupancy.overlapping(start, end, ignore)
        if without is not None:
            rows = rows[~without[rows]]
        if bounds:
            rows = _within(occupancy, rows, bounds)
        indexes = occupancy.index[rows]
        whole = occupancy.whole[rows]
        self.occupied: Mask = np.zeros(self.size, bool)
        """Where any allocation overlaps."""
        self.occupied[indexes] = True
        self.taken: Mask = np.zeros(self.size, bool)
        """Where an allocation of the whole resource overlaps."""
        self.taken[indexes[whole]] = True
        self._occupancy = occupancy
        self._rows = rows[~whole]
        self._indexes = indexes[~whole]
        self.has_parts = len(self._rows) > 0
        """Whether any allocation of no more than a part overlaps."""
        self.overlapping: Ints = rows
        """The rows of the allocations that overlap."""
        self.rows = len(rows)
        """How many allocations overlap."""
        self._bounds = (start, end)
        self._totals: dict[str, Ints] = {}
        self._peaks: dict[str, Ints] = {}
        self._sweep: _Sweep | None = None

    def total(self, resource_class: str) -> Ints:
        """Return the sum of the amounts of the class that allocations take of each resource in the window.

        This is never less than the peak, and found much faster. The array must not be written to."""
        if resource_class not in self._totals:
            amounts = self._occupancy.amounts(resource_class, self._rows)
            self._totals[resource_class] = np.bincount(self._indexes, amounts, self.size).astype(np.int64)
        return self._totals[resource_class]

    def peak(self, resource_class: str) -> Ints:
        """Return how much of the class allocations take of each resource at the worst instant.

        An allocation that ends at t is gone when another one starts at t. Example: 3 VCPUs from 8 to 10 and 4
        from 9 to 12 make a peak of 7; 3 from 8 to 10 and 4 from 10 to 12 make one of 4. The array must not be
        written to."""
        if not self.has_parts:
            return self.total(resource_class)
        if resource_class not in self._peaks:
            if self._sweep is None:
                starts, ends = self._occupancy.start[self._rows], self._occupancy.end[self._rows]
                self._sweep = _Sweep(self.size, self._indexes, starts, ends, *self._bounds)
            amounts = self._occupancy.amounts(resource_class, self._rows)
            self._peaks[resource_class] = self._sweep.peak(self.total(resource_class), amounts)
        return self._peaks[resource_class]


def _within(occupancy: Occupancy, rows: Ints, bounds: Mapping[int, tuple[int, int]]) -> Ints:
    """Return the rows without those at an index of ``bounds`` that do not overlap its narrower window
    there."""
    narrower = np.isin(occupancy.index[rows], list(bounds))
    for at in np.flatnonzero(narrower).tolist():
        row = rows[at]
        start, end = bounds[int(occupancy.index[row])]
        narrower[at] = not (occupancy.start[row] < end and occupancy.end[row] > start)
    kept: Ints = rows[~narrower]
    return kept


class _Sweep:
    """The order in which allocations begin and end, per index; shared by all resource classes.

    The begins add an amount and the ends take it away; the peak is the largest sum on the way. Where all
    allocations of an index have an instant in common the peak is their sum, so only the others are swept. The
    cost is that of sorting two moments of each allocation that is swept."""

    def __init__(
        self, size: int, indexes: npt.NDArray[np.int32], starts: Ints, ends: Ints, start: int, end: int
    ) -> None:
        starts, ends = np.maximum(starts, start), np.minimum(ends, end)
        last_start = np.full(size, start, np.int64)
        np.maximum.at(last_start, indexes, starts)
        first_end = np.full(size, end, np.int64)
        np.minimum.at(first_end, indexes, ends)
        self._swept = np.flatnonzero((last_start >= first_end)[indexes])
        swept = indexes[self._swept].astype(np.int64)
        # One number that sorts by index, then time, then ends before starts.
        bits = (end - start).bit_length() + 1
        coming = (swept << bits) | ((starts[self._swept] - start) << 1) | 1
        going = (swept << bits) | ((ends[self._swept] - start) << 1)
        moments = np.concatenate((coming, going))
        self._order = sorted_order(moments)
        in_order = moments[self._order] >> bits
        self._groups = np.flatnonzero(np.diff(in_order, prepend=-1))
        self._group_indexes = in_order[self._groups]

    def peak(self, total: Ints, amounts: Ints) -> Ints:
        peak = total.copy()
        if len(self._swept):
            changes = np.concatenate((amounts[self._swept], -amounts[self._swept]))[self._order]
            # Every begin has its end, so each index starts from zero.
            peak[self._group_indexes] = np.maximum.reduceat(np.cumsum(changes), self._groups)
        return peak
