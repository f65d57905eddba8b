"""Which allocations there are: rows of start, end, place and amounts, as columns of arrays.

Rows stand in blocks, and all rows of a block lie near each other in time, so that a question about a window looks at few
of them however many there are: a block takes allocations whose length is below the same power of two and that start in the
same cell of that width. A row is freed and used again, never moved; a free row overlaps nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from blazar.domain.facts import MOST, Ints, grown
from blazar.domain.requirement import Mask
from blazar.domain.resource import Allocation
from blazar.domain.time import epoch

_NEVER = 2**62
_BLOCK_BITS = 6
_BLOCK = 1 << _BLOCK_BITS
_NARROWEST = 20
"""Cells are at least 2 to this power seconds wide, about twelve days, lest there be many with few rows."""

Cell = tuple[int, int]
"""The power of two that bounds the length, and the number of the cell of that width."""


def _cell(start: int, end: int) -> Cell:
    power = max((end - start).bit_length(), _NARROWEST)
    return power, start >> power


class Occupancy:
    """The allocations of all places. Times are seconds since 1970-01-01 UTC."""

    def __init__(self) -> None:
        self._start: Ints = np.zeros(0, np.int64)
        self._end: Ints = np.zeros(0, np.int64)
        self._place: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._whole: Mask = np.zeros(0, bool)
        self._lease: Ints = np.zeros(0, np.int64)
        self._reservation: Ints = np.zeros(0, np.int64)
        self._amounts: dict[str, Ints] = {}
        self._allocations: list[Allocation | None] = []
        self._rows: dict[int, list[int]] = {}
        self._first: Ints = np.zeros(0, np.int64)
        """By block: what no start in it is before."""
        self._last: Ints = np.zeros(0, np.int64)
        """By block: what no end in it is after."""
        self._cells: list[Cell] = []
        self._vacant: list[list[int]] = []
        """By block: its free rows."""
        self._open: dict[Cell, dict[int, None]] = {}
        """The blocks of a cell that have free rows, in order."""
        self._spare: list[int] = []
        """Blocks that belong to no cell."""

    def of(self, place: int) -> Iterator[Allocation]:
        """The allocations at a place, in the order they were given."""
        return (allocation for row in self._rows.get(place, ()) if (allocation := self._allocations[row]))

    def replace(self, place: int, allocations: Iterable[Allocation]) -> None:
        """Make these the allocations at the place."""
        for row in self._rows.pop(place, ()):
            self._free(row)
        rows = [self._write(place, allocation) for allocation in allocations]
        if rows:
            self._rows[place] = rows

    def overlapping(self, start: int, end: int, ignore: Collection[str] = ()) -> Ints:
        """The rows that overlap ``[start, end)``, without those whose lease or reservation is in ``ignore``."""
        blocks = np.flatnonzero((self._first < end) & (self._last > start))
        starts = self._start.reshape(-1, _BLOCK).take(blocks, axis=0)
        ends = self._end.reshape(-1, _BLOCK).take(blocks, axis=0)
        found = np.flatnonzero((starts < end) & (ends > start))
        rows: Ints = (blocks[found >> _BLOCK_BITS] << _BLOCK_BITS) | (found & (_BLOCK - 1))
        for ignored in ignore:
            number = hash(ignored)
            suspects = (self._reservation[rows] == number) | (self._lease[rows] == number)
            # Hashes may collide, names don't.
            for at in np.flatnonzero(suspects).tolist():
                allocation = self._allocations[rows[at]]
                suspects[at] = allocation is not None and ignored in (
                    allocation.reservation_id,
                    allocation.lease_id,
                )
            rows = rows[~suspects]
        return rows

    def places(self, rows: Ints) -> npt.NDArray[np.int32]:
        return self._place[rows]

    def starts(self, rows: Ints) -> Ints:
        return self._start[rows]

    def ends(self, rows: Ints) -> Ints:
        return self._end[rows]

    def whole(self, rows: Ints) -> Mask:
        """Which of the rows claim the whole resource."""
        return self._whole[rows]

    def amounts(self, resource_class: str, rows: Ints) -> Ints:
        stored = self._amounts.get(resource_class)
        return np.zeros(len(rows), np.int64) if stored is None else stored[rows]

    def _write(self, place: int, allocation: Allocation) -> int:
        start, end = epoch(allocation.interval.start), epoch(allocation.interval.end)
        row = self._take(_cell(start, end))
        self._allocations[row] = allocation
        self._start[row] = start
        self._end[row] = end
        self._place[row] = place
        self._whole[row] = allocation.claim.whole
        self._lease[row] = hash(allocation.lease_id)
        self._reservation[row] = hash(allocation.reservation_id)
        claimed = allocation.claim.amounts or {}
        for name in claimed:
            if name not in self._amounts:
                self._amounts[name] = np.zeros(len(self._start), np.int64)
        for name, column in self._amounts.items():
            column[row] = min(max(claimed.get(name, 0), 0) * allocation.slots, 2 * MOST)
        return row

    def _take(self, cell: Cell) -> int:
        open_blocks = self._open.setdefault(cell, {})
        if not open_blocks:
            open_blocks[self._new_block(cell)] = None
        block = next(iter(open_blocks))
        row = self._vacant[block].pop()
        if not self._vacant[block]:
            del open_blocks[block]
        return row

    def _free(self, row: int) -> None:
        self._start[row], self._end[row] = _NEVER, -_NEVER
        self._allocations[row] = None
        block = row >> _BLOCK_BITS
        cell = self._cells[block]
        open_blocks = self._open.setdefault(cell, {})
        open_blocks[block] = None
        self._vacant[block].append(row)
        if len(self._vacant[block]) == _BLOCK:
            del open_blocks[block]
            if not open_blocks:
                del self._open[cell]
            self._first[block], self._last[block] = _NEVER, -_NEVER
            self._spare.append(block)

    def _new_block(self, cell: Cell) -> int:
        if not self._spare:
            self._grow()
        block = self._spare.pop()
        power, number = cell
        # What starts in a cell and is shorter than it ends in the next one at the latest.
        self._first[block], self._last[block] = number << power, (number + 2) << power
        self._cells[block] = cell
        return block

    def _grow(self) -> None:
        old = len(self._cells)
        new = max(4, old + old // 2)
        self._first = grown(self._first, new, _NEVER)
        self._last = grown(self._last, new, -_NEVER)
        self._cells += [(0, 0)] * (new - old)
        blocks = range(old, new)
        self._vacant += (list(range((b + 1) * _BLOCK - 1, b * _BLOCK - 1, -1)) for b in blocks)
        self._spare += reversed(blocks)
        room = new * _BLOCK
        self._allocations += [None] * (room - len(self._allocations))
        self._start = grown(self._start, room, _NEVER)
        self._end = grown(self._end, room, -_NEVER)
        self._place = grown(self._place, room, 0)
        self._whole = grown(self._whole, room, False)
        self._lease = grown(self._lease, room, 0)
        self._reservation = grown(self._reservation, room, 0)
        for name, column in self._amounts.items():
            self._amounts[name] = grown(column, room, 0)
