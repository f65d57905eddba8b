"""The allocations of a pool in time: rows of start, end, index and amounts, as columns of arrays.

The rows stand in blocks of 64. All rows of a block lie near each other in time, and a table holds the
earliest start and the latest end that a block may have. A question about a window compares these two first,
and then looks only into the blocks that the window touches: with 100,000 allocations over a year, a question
about a day reads some 5,000 rows.

Example: an allocation of three days that starts on day 20 belongs to the cell of width 2^20 seconds (twelve
days) that begins on day 12. It stands in a block of that cell, whose table entry is "from day 12 to day 36".
A window from day 40 on skips that block, with its 64 rows, after one comparison."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from blazar.domain.calendar.arrays import Ints
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import Allocation

NEVER = 2**62
BLOCK_BITS = 6
BLOCK = 1 << BLOCK_BITS


@dataclass(frozen=True, eq=False)
class Occupancy:
    """The allocations of all indexes at one moment. Times are seconds since 1970-01-01 UTC.

    A block's rows stand in a page. ``first``, ``last`` and ``page`` are indexed by block; all other arrays by
    row, and the rows of page p are those from ``p * BLOCK`` on. The pages named in ``page`` are never written
    to as long as this object lives. A free row overlaps no window."""

    first: Ints
    """No start in the block is before this."""
    last: Ints
    """No end in the block is after this."""
    page: Ints
    start: Ints
    end: Ints
    index: npt.NDArray[np.int32]
    whole: Mask
    lease: Ints
    """The hash of the lease's id."""
    reservation: Ints
    """The hash of the reservation's id."""
    by_class: Mapping[str, Ints]
    """The amounts of each resource class, all slots together."""
    allocations: Sequence[Allocation | None]
    of: Occupancy | None = None
    """What this is a part of: its pages are as they are while that one lives."""

    def overlapping(self, start: int, end: int, ignore: Collection[str] = ()) -> Ints:
        """Return the rows that overlap ``[start, end)``, without those whose lease or reservation is in
        ``ignore``."""
        pages = self.page[np.flatnonzero((self.first < end) & (self.last > start))]
        starts = self.start.reshape(-1, BLOCK).take(pages, axis=0)
        ends = self.end.reshape(-1, BLOCK).take(pages, axis=0)
        found = np.flatnonzero((starts < end) & (ends > start))
        rows: Ints = (pages[found >> BLOCK_BITS] << BLOCK_BITS) | (found & (BLOCK - 1))
        return self._without(rows, ignore) if ignore else rows

    def without(self, reservations: Collection[str]) -> Occupancy:
        """Return the same without the allocations of these reservations."""
        rows = np.flatnonzero(np.isin(self.reservation, [hash(each) for each in reservations]))
        end = self.end.copy()
        for row in rows.tolist():
            allocation = self.allocations[row]
            if allocation is not None and allocation.reservation_id in reservations:
                end[row] = -NEVER
        return replace(self, end=end, of=self)

    def _without(self, rows: Ints, ignore: Collection[str]) -> Ints:
        reservations, leases = self.reservation[rows], self.lease[rows]
        suspects, ignored = np.zeros(len(rows), bool), frozenset(ignore)
        for number in map(hash, ignored):
            suspects |= (reservations == number) | (leases == number)
        # Hashes may collide, names don't.
        for at in np.flatnonzero(suspects).tolist():
            allocation = self.allocations[rows[at]]
            suspects[at] = allocation is not None and (
                allocation.reservation_id in ignored or allocation.lease_id in ignored
            )
        rest: Ints = rows[~suspects]
        return rest

    def amounts(self, resource_class: str, rows: Ints) -> Ints:
        """Return how much of the class each of the rows takes."""
        stored = self.by_class.get(resource_class)
        return np.zeros(len(rows), np.int64) if stored is None else stored[rows]
