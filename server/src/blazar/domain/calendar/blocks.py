"""Write allocations into blocks, while readers go on reading the snapshots that they have.

A block takes allocations whose length is below the same power of two and that start in the same cell of that
width, so all of its rows lie near each other in time. A row keeps its place in its block.

The rows of a block stand in a page. Where a snapshot that is still in use sees the page, the first write
copies the 64 rows to another page and the block moves there (copy on write). So a snapshot costs the same
however many allocations there are, a write copies what it changes and no more, and a page is used again when
the last snapshot that sees it is gone."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from blazar.domain.calendar.arrays import MOST, Ints, grown
from blazar.domain.calendar.occupancy import BLOCK, BLOCK_BITS, NEVER, Occupancy
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import Allocation
from blazar.domain.time import epoch

_NARROWEST = 20
"""Cells are at least 2 to this power seconds wide, about twelve days: narrower ones would hold few rows
each."""

Cell = tuple[int, int]
"""The power of two that bounds the length, and the number of the cell of that width."""


def _cell(start: int, end: int) -> Cell:
    power = max((end - start).bit_length(), _NARROWEST)
    return power, start >> power


class Pages:
    """The rows, page by page, and which pages are free."""

    def __init__(self) -> None:
        self.start: Ints = np.zeros(0, np.int64)
        self.end: Ints = np.zeros(0, np.int64)
        self.index: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self.whole: Mask = np.zeros(0, bool)
        self.lease: Ints = np.zeros(0, np.int64)
        self.reservation: Ints = np.zeros(0, np.int64)
        self.by_class: dict[str, Ints] = {}
        self.allocations: list[Allocation | None] = []
        self.made: list[int] = []
        """By page: the number of the next snapshot when it was made; snapshots from that number on see it."""
        self._free: list[int] = []

    def clone(self) -> Pages:
        """Return a copy of all rows."""
        clone = Pages()
        clone.start, clone.end, clone.index = self.start.copy(), self.end.copy(), self.index.copy()
        clone.whole, clone.lease, clone.reservation = (
            self.whole.copy(),
            self.lease.copy(),
            self.reservation.copy(),
        )
        clone.by_class = {name: column.copy() for name, column in self.by_class.items()}
        clone.allocations, clone.made = self.allocations.copy(), self.made.copy()
        clone._free = self._free.copy()
        return clone

    def take(self, made: int) -> int:
        """Return a free page."""
        if not self._free:
            self._grow()
        page = self._free.pop()
        self.made[page] = made
        return page

    def give_back(self, page: int) -> None:
        """Empty a page that no snapshot sees."""
        rows = slice(page << BLOCK_BITS, (page + 1) << BLOCK_BITS)
        self.start[rows], self.end[rows] = NEVER, -NEVER
        self.allocations[rows] = [None] * BLOCK
        self._free.append(page)

    def copy(self, old: int, made: int) -> int:
        """Copy a page, and return the number of the copy."""
        page = self.take(made)
        source = slice(old << BLOCK_BITS, (old + 1) << BLOCK_BITS)
        rows = slice(page << BLOCK_BITS, (page + 1) << BLOCK_BITS)
        for column in (self.start, self.end, self.index, self.whole, self.lease, self.reservation):
            column[rows] = column[source]
        for column in self.by_class.values():
            column[rows] = column[source]
        self.allocations[rows] = self.allocations[source]
        return page

    def write(self, row: int, index: int, allocation: Allocation, start: int, end: int) -> None:
        self.allocations[row] = allocation
        self.start[row] = start
        self.end[row] = end
        self.index[row] = index
        self.whole[row] = allocation.usage.whole
        self.lease[row] = hash(allocation.lease_id)
        self.reservation[row] = hash(allocation.reservation_id)
        amounts = allocation.usage.amounts or {}
        for name in amounts:
            if name not in self.by_class:
                self.by_class[name] = np.zeros(len(self.start), np.int64)
        for name, column in self.by_class.items():
            column[row] = min(max(amounts.get(name, 0), 0) * allocation.slots, 2 * MOST)

    def erase(self, row: int) -> None:
        self.start[row], self.end[row] = NEVER, -NEVER
        self.allocations[row] = None

    def _grow(self) -> None:
        """Make room for more pages, in new arrays: readers keep the old ones."""
        old = len(self.made)
        new = max(4, old + old // 2)
        length = new * BLOCK
        self.made += [0] * (new - old)
        self.allocations += [None] * (length - len(self.allocations))
        self.start = grown(self.start, length, NEVER)
        self.end = grown(self.end, length, -NEVER)
        self.index = grown(self.index, length, 0)
        self.whole = grown(self.whole, length, False)
        self.lease = grown(self.lease, length, 0)
        self.reservation = grown(self.reservation, length, 0)
        self.by_class = {name: grown(column, length, 0) for name, column in self.by_class.items()}
        self._free += reversed(range(old, new))


class Blocks:
    """The allocations of all indexes, to be changed; ``snapshot`` gives out what readers may ask."""

    def __init__(self) -> None:
        self._pages = Pages()
        self._rows: dict[int, dict[str, tuple[int, ...]]] = {}
        """By index and lease: the rows, counted by block."""
        self._first: Ints = np.zeros(0, np.int64)
        self._last: Ints = np.zeros(0, np.int64)
        self._page: Ints = np.zeros(0, np.int64)
        self._tables_shared = False
        self._cells: list[Cell] = []
        self._vacant: list[list[int]] = []
        """By block: its free rows."""
        self._open: dict[Cell, dict[int, None]] = {}
        """The blocks of a cell that have free rows, in order."""
        self._spare: list[int] = []
        """Blocks that belong to no cell."""
        self._snapshots: list[tuple[int, weakref.ref[Occupancy]]] = []
        self._next = 0
        """The number of the next snapshot."""
        self._newest = -1
        """The number of the newest snapshot that is in use."""
        self._retired: deque[tuple[int, int]] = deque()
        """Pages that no block has any more: the first snapshot that does not see it, and the page."""

    def copy(self) -> Blocks:
        """Return a copy that is changed by itself. The cost is that of copying some arrays and lists.

        Pages that only snapshots of the original see stay unused in the copy."""
        copy = Blocks()
        copy._pages = self._pages.clone()
        copy._rows = {index: by_lease.copy() for index, by_lease in self._rows.items()}
        copy._first, copy._last, copy._page = self._first.copy(), self._last.copy(), self._page.copy()
        copy._cells, copy._spare = self._cells.copy(), self._spare.copy()
        copy._vacant = [rows.copy() for rows in self._vacant]
        copy._open = {cell: blocks.copy() for cell, blocks in self._open.items()}
        copy._next = self._next
        return copy

    def snapshot(self) -> Occupancy:
        """Return the allocations as they are now; later changes are not seen there."""
        pages = self._pages
        taken = Occupancy(
            self._first,
            self._last,
            self._page,
            pages.start,
            pages.end,
            pages.index,
            pages.whole,
            pages.lease,
            pages.reservation,
            dict(pages.by_class),
            pages.allocations,
        )
        self._snapshots.append((self._next, weakref.ref(taken)))
        self._newest = self._next
        self._next += 1
        self._tables_shared = True
        return taken

    def of(self, index: int) -> Iterator[Allocation]:
        """Return the allocations at an index, those of a lease in the order in which they were given."""
        rows = (self._row_in_page(row) for of_lease in self._rows.get(index, {}).values() for row in of_lease)
        return (found for row in rows if (found := self._pages.allocations[row]))

    def load(self, allocations: Iterable[tuple[int | None, Allocation]]) -> None:
        """Add allocations by index, but for those that have none, where no snapshot was ever taken."""
        for index, allocation in allocations:
            if index is not None:
                self._add(index, allocation)

    def replace(self, index: int, allocations: Iterable[Allocation]) -> None:
        """Make these the allocations at the index."""
        self.remove(index, tuple(self._rows.get(index, ())))
        for allocation in allocations:
            self._add(index, allocation)

    def remove(self, index: int, lease_ids: Iterable[str]) -> None:
        """Remove what these leases have at the index; the cost does not depend on what others have there."""
        self._forget_unused_snapshots()
        by_lease = self._rows.get(index, {})
        for lease_id in lease_ids:
            for row in by_lease.pop(lease_id, ()):
                self._free(row)
        if not by_lease:
            self._rows.pop(index, None)

    def add(self, index: int, allocation: Allocation) -> None:
        """Add one allocation at the index; the cost does not depend on how many are there."""
        self._forget_unused_snapshots()
        self._add(index, allocation)

    def _add(self, index: int, allocation: Allocation) -> None:
        by_lease = self._rows.setdefault(index, {})
        rows = by_lease.get(allocation.lease_id, ())
        by_lease[allocation.lease_id] = (*rows, self._write(index, allocation))

    def _forget_unused_snapshots(self) -> None:
        self._snapshots = [(number, ref) for number, ref in self._snapshots if ref() is not None]
        self._newest = self._snapshots[-1][0] if self._snapshots else -1
        oldest = self._snapshots[0][0] if self._snapshots else self._next
        while self._retired and self._retired[0][0] <= oldest:
            self._pages.give_back(self._retired.popleft()[1])
        self._tables_shared &= bool(self._snapshots)

    def _row_in_page(self, row: int) -> int:
        return int(self._page[row >> BLOCK_BITS]) << BLOCK_BITS | row & (BLOCK - 1)

    def _own_row(self, row: int) -> int:
        """Return where the row stands, after a copy of its page where a snapshot sees it."""
        block = row >> BLOCK_BITS
        page = int(self._page[block])
        if self._pages.made[page] <= self._newest:
            self._own_tables()
            copied = self._pages.copy(page, self._next)
            self._page[block] = copied
            self._retired.append((self._next, page))
        return self._row_in_page(row)

    def _own_tables(self) -> None:
        if self._tables_shared:
            self._first, self._last, self._page = self._first.copy(), self._last.copy(), self._page.copy()
            self._tables_shared = False

    def _write(self, index: int, allocation: Allocation) -> int:
        start, end = epoch(allocation.interval.start), epoch(allocation.interval.end)
        row = self._take(_cell(start, end))
        self._pages.write(self._own_row(row), index, allocation, start, end)
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
        self._pages.erase(self._own_row(row))
        block = row >> BLOCK_BITS
        cell = self._cells[block]
        open_blocks = self._open.setdefault(cell, {})
        open_blocks[block] = None
        self._vacant[block].append(row)
        if len(self._vacant[block]) == BLOCK:
            del open_blocks[block]
            if not open_blocks:
                del self._open[cell]
            self._own_tables()
            self._first[block], self._last[block] = NEVER, -NEVER
            self._spare.append(block)

    def _new_block(self, cell: Cell) -> int:
        if not self._spare:
            self._grow()
        block = self._spare.pop()
        power, number = cell
        self._own_tables()
        # What starts in a cell and is shorter than it ends in the next one at the latest.
        self._first[block], self._last[block] = number << power, (number + 2) << power
        self._cells[block] = cell
        return block

    def _grow(self) -> None:
        old = len(self._cells)
        new = max(4, old + old // 2)
        self._first = grown(self._first, new, NEVER)
        self._last = grown(self._last, new, -NEVER)
        self._page = grown(self._page, new, 0)
        self._tables_shared = False
        self._cells += [(0, 0)] * (new - old)
        for block in range(old, new):
            self._page[block] = self._pages.take(self._next)
            self._vacant.append(list(range((block + 1) * BLOCK - 1, block * BLOCK - 1, -1)))
        self._spare += reversed(range(old, new))
