"""Plan whole resources anew: a request together with all that is movable.

Where chains of moves do not end in time, this finds room all the same nearly always, in a time that is known
before. Resources that suit the same demands are alike, so first only numbers count: each demand gets so many
resources of each *class* as are free during all of its time, those first that suit the fewest others. The
order of the demands decides whether it works out. Those with the fewest resources to choose from come first,
and among these the longest, or else the earliest. A demand that does not get enough goes to the front, and
all begins anew, some times (squeaky wheel optimisation).

Then the resources themselves are given out, in the order of the starts. What is movable has not begun, so a
resource that is free at a start is free until something begins on it that stays: as long as there is nothing
of that kind, numbers that fit can always be given out (a colouring of an interval graph). Each demand keeps
the resources that it has, as far as it can; else it takes those that no other has at that time.

Example: hosts 1 and 2 have no GPU, host 3 has one. A, which needs none, is on host 3 from 10 to 12, B on
host 1 from 9 to 11, C on host 2 from 11 to 13. D needs a GPU from 10 to 13. D comes first and gets host 3. A,
B and C fit on hosts 1 and 2 in sum. By their starts B gets host 1, A host 2, and C host 1.

What a request asks for by name, as an active lease does for its hosts, counts as staying there.

The cost is a pass over the pool for each different requirement, one over the classes for each demand and
order, and one over the class for each demand and class. It plans no amounts of shared resources.

How close this comes to what an exact solver finds was measured: see ``bench/late_binding.py``. The squeaky
wheel is from D. E. Joslin and D. P. Clements, "Squeaky Wheel" Optimization, JAIR 10, 1999."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.demand import Grouping
from blazar.domain.planning.movable import InUse, Movables, Rearrangement, in_use, rearrangement
from blazar.domain.planning.plan import Assignment
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import Allocation, PlannedMove
from blazar.domain.time import epoch

_PASSES = 8


class _Piece(NamedTuple):
    """What one demand is to get: so many whole resources at one time. Times are seconds since 1970-01-01 UTC;
    the end has the cleaning time with it."""

    demand: int
    """Its number."""
    units: int
    start: int
    end: int
    mask: Mask
    """Where a resource suits it, and may be planned."""
    need: int
    """How many do."""
    rows: Mapping[int, Allocation] = {}
    """What it has now and may leave, by index."""


_Share = tuple[_Piece, Ints]
"""How many resources of each class a piece gets."""


def repacked(movables: Movables, budget: Budget) -> Rearrangement | None:
    """Return the plan of the request, with the minimum of each of its demands, and the moves that make room
    for it; None where none was found. Raises CutShort."""
    if any(not each.is_whole for each in movables.candidates[: movables.new]):
        return None
    packing = _Packing(movables, budget)
    if not packing.has_named():
        return None
    for order in _ORDERS:
        pieces = sorted(packing.pieces, key=order)
        for attempt in range(_ATTEMPTS):
            shares = packing.shared_out(pieces, keeps=attempt == 0)
            if not isinstance(shares, _Piece):
                found = packing.given_out(shares)
                if found is not None:
                    return packing.outcome(found)
                break
            pieces.insert(0, pieces.pop(next(at for at, each in enumerate(pieces) if each is shares)))
    return None


_ORDERS: Sequence[Callable[[_Piece], tuple[int, ...]]] = (
    lambda piece: (piece.need, piece.start - piece.end),
    lambda piece: (piece.need, piece.start),
)
_ATTEMPTS = 6
"""For each order."""


class _Packing:
    """The pieces, and the resources by classes."""

    def __init__(self, movables: Movables, budget: Budget) -> None:
        self._calendar = movables.calendar
        self._request = movables.request
        self._new = movables.new
        self._width = movables.width
        self._budget = budget
        self.pieces = [*_new_pieces(movables), *_movable_pieces(movables)]
        self._divide()
        moving = [row for piece in self.pieces for row in piece.rows.values()]
        self._named = [
            (number, index)
            for number, candidate in enumerate(movables.candidates[: movables.new])
            for index in candidate.needed
        ]
        """The resources that new demands ask for by name, each with the number of the demand."""
        self._masks = [candidate.matching for candidate in movables.candidates[: movables.new]]
        self._staying = _staying(movables, {row.id for row in moving})
        self._fixed = self._with_named()
        self._times = np.unique(
            np.concatenate((np.array([piece.start for piece in self.pieces], np.int64), self._fixed.begins))
        )
        budget.spend(of_array(len(movables.rows) + len(self._times) * len(self._members), _PASSES))
        self._free = self._free_by_class()
        held = [(index, each.start, each.end) for each in self.pieces for index in each.rows]
        self._held, self._held_from, self._held_until = np.array(held, np.int64).reshape(-1, 3).T

    def _bounds(self) -> tuple[int, int]:
        return epoch(self._request.interval.start), epoch(self._request.interval.end)

    def _with_named(self) -> InUse:
        """Return when resources are in use by what does not move, and by what is asked for by name."""
        indexes: Ints = np.array([index for _, index in self._named], np.int64)
        start, end = self._bounds()
        return InUse(
            np.concatenate((self._staying.indexes, indexes)),
            np.concatenate((self._staying.begins, np.full(len(indexes), start, np.int64))),
            np.concatenate((self._staying.ends, np.full(len(indexes), end + self._width, np.int64))),
        )

    def has_named(self) -> bool:
        """Return whether all that is asked for by name can be had, beside what does not move."""
        start, end = self._bounds()
        busy = set(self._staying.during(start, end + self._width).tolist())
        indexes = [index for _, index in self._named]
        return len(set(indexes)) == len(indexes) and all(
            index not in busy
            and self._masks[number][index]
            and bool(self._calendar.columns.reservable[index])
            for number, index in self._named
        )

    def _divide(self) -> None:
        """Divide the resources into classes. A class has those that suit the same pieces: by a sum of random
        numbers, one for each requirement."""
        masks = {id(piece.mask): piece.mask for piece in self.pieces}
        size = self._calendar.columns.size
        self._budget.spend(of_array(size, 2 * len(masks)))
        random = np.random.default_rng(0)
        signature: Ints = np.zeros(size, np.int64)
        for mask in masks.values():
            signature[mask] += random.integers(1, 1 << 62)
        known, classes = np.unique(signature, return_inverse=True)
        rank = np.argsort(self._calendar.rank[:size], kind="stable")
        members = [rank[classes[rank] == number] for number in range(len(known))]
        self._members = [each for each, value in zip(members, known.tolist(), strict=True) if value]
        self._class_of: Ints = np.full(size, -1, np.int64)
        for number, each in enumerate(self._members):
            self._class_of[each] = number
        first = np.array([each[0] for each in self._members], np.int64)
        self._suits = {id_: mask[first] for id_, mask in masks.items()}
        wanted = np.zeros(len(first), np.int64)
        for piece in self.pieces:
            wanted += self._suits[id(piece.mask)] * piece.units * (piece.end - piece.start)
        self._in_order = np.argsort(wanted, kind="stable")
        """Those first that serve the least else."""

    def _free_by_class(self) -> Ints:
        """Return how many resources of each class are free at each time beside what stays."""
        fixed = self._fixed
        classes = self._class_of[fixed.indexes]
        changes = np.zeros((len(self._members), len(self._times) + 1), np.int64)
        changes[:, 0] = [len(each) for each in self._members]
        known = classes >= 0
        first, last = (np.searchsorted(self._times, each[known]) for each in (fixed.begins, fixed.ends))
        np.subtract.at(changes, (classes[known], first), 1)
        np.add.at(changes, (classes[known], last), 1)
        free: Ints = np.cumsum(changes, axis=1)[:, :-1]
        return free

    def shared_out(self, pieces: Sequence[_Piece], keeps: bool) -> Sequence[_Share] | _Piece:
        """Return how many resources of each class each piece gets, one piece after another; with ``keeps``
        of those classes first of which it has any. Else return the first piece that does not get enough."""
        free = self._free.copy()
        shares = []
        for piece in pieces:
            first, last = np.searchsorted(self._times, (piece.start, piece.end)).tolist()
            self._budget.spend(1 + free.shape[0] * (last - first) // 1000)
            least = free[:, first:last].min(axis=1)
            there = np.where(self._suits[id(piece.mask)], np.maximum(least, 0), 0)
            share: Ints = np.zeros(len(there), np.int64)
            if keeps and piece.rows:
                has = np.bincount(self._class_of[list(piece.rows)], minlength=len(there))
                share = np.minimum(has, there)
            more = (there - share)[self._in_order]
            before = np.cumsum(more) - more
            got = np.clip(piece.units - int(share.sum()) - before, 0, more)
            share[self._in_order] += got
            if int(share.sum()) < piece.units:
                return piece
            free[:, first:last] -= share[:, None]
            shares.append((piece, share))
        return shares

    def given_out(self, shares: Sequence[_Share]) -> Mapping[int, Sequence[int]] | None:
        """Return the indexes that each piece gets, by its position; None where something that stays is in
        the way."""
        position = {id(piece): number for number, piece in enumerate(self.pieces)}
        until: Ints = np.zeros(self._calendar.columns.size, np.int64)
        found: dict[int, Sequence[int]] = {}
        for piece, share in sorted(shares, key=lambda each: each[0].start):
            busy = until > piece.start
            busy[self._fixed.during(piece.start, piece.end)] = True
            self._budget.spend(of_array(len(busy) + len(self._fixed.indexes)))
            got: list[int] = []
            for of_class in np.flatnonzero(share).tolist():
                got += self._kept(piece, of_class, int(share[of_class]), busy)
            busy[got] = True
            lacking = share - np.bincount(self._class_of[got], minlength=len(share))
            if lacking.any():
                more = self._best(piece, lacking, busy, until)
                if more is None:
                    return None
                got += more
            until[got] = piece.end
            found[position[id(piece)]] = got
        return found

    def _kept(self, piece: _Piece, of_class: int, most: int, busy: Mask) -> Sequence[int]:
        """Return those of the class that the piece has now and may keep."""
        return [index for index in piece.rows if self._class_of[index] == of_class and not busy[index]][:most]

    def _best(self, piece: _Piece, lacking: Ints, busy: Mask, until: Ints) -> Sequence[int] | None:
        """Return so many of each class: first those that no other piece has now, then those with the
        shortest gap. None where there are not so many."""
        self._budget.spend(of_array(len(busy) + len(self._fixed.indexes) + len(self._held), 2))
        wanted: Mask = np.zeros(len(busy), bool)
        wanted[self._held[(self._held_from < piece.end) & (self._held_until > piece.start)]] = True
        gap_ends = self._fixed.next_after(piece.end, len(busy))
        best: list[int] = []
        for of_class in np.flatnonzero(lacking).tolist():
            members = self._members[of_class]
            free = members[~busy[members]]
            if len(free) < lacking[of_class]:
                return None
            order = np.lexsort((-until[free], gap_ends[free], wanted[free]))
            best += free[order[: lacking[of_class]]].tolist()
        return best

    def outcome(self, found: Mapping[int, Sequence[int]]) -> Rearrangement:
        rank = self._calendar.rank
        assigned: list[Assignment] = []
        moves: list[PlannedMove] = []
        for number, index in self._named:
            assigned.append(
                Assignment(self._request.demands[number].reservation_id, self._calendar.id_at(index))
            )
        for number, piece in enumerate(self.pieces):
            indexes = sorted(found[number], key=lambda index: int(rank[index]))
            if piece.demand < self._new:
                demand = self._request.demands[piece.demand]
                names = (self._calendar.id_at(index) for index in indexes)
                assigned += [Assignment(demand.reservation_id, name) for name in names]
                continue
            left = [row for index, row in piece.rows.items() if index not in indexes]
            reached = (index for index in indexes if index not in piece.rows)
            moves += [
                PlannedMove(row, self._calendar.id_at(index), row.slots)
                for row, index in zip(left, reached, strict=True)
            ]
        return rearrangement(self._calendar, self._request.interval, assigned, moves)


def _new_pieces(movables: Movables) -> Iterator[_Piece]:
    reservable = movables.calendar.columns.reservable
    interval = movables.request.interval
    start, end = epoch(interval.start), epoch(interval.end) + movables.width
    for number, candidate in enumerate(movables.candidates[: movables.new]):
        together = candidate.demand.grouping is Grouping.TOGETHER
        count = min(candidate.least, 1) if together else candidate.least
        count -= len(candidate.needed)
        if count <= 0:
            continue
        mask = candidate.matching & reservable
        yield _Piece(number, count, start, end, mask, int(mask.sum()))


def _movable_pieces(movables: Movables) -> Iterator[_Piece]:
    """Yield a piece for each movable demand of whole resources, and each time that it has any. What is on a
    resource that does not suit it any more stays there, like all that is not movable."""
    columns = movables.calendar.columns
    rows = movables.rows[movables.is_movable[movables.rows]]
    by_time: dict[tuple[int, int, int], dict[int, Allocation]] = {}
    for row, index in zip(rows.tolist(), movables.calendar.occupancy.index[rows].tolist(), strict=True):
        allocation = movables.allocation(row)
        number = movables.number_of(allocation)
        if number is not None and allocation.usage.whole:
            interval = allocation.interval
            key = number, epoch(interval.start), epoch(interval.end) + movables.width
            by_time.setdefault(key, {})[index] = allocation
    masks: dict[int, tuple[Mask, int]] = {}
    for (number, start, end), held in by_time.items():
        matching = movables.candidates[number].matching
        if id(matching) not in masks:
            mask = matching & columns.reservable
            masks[id(matching)] = mask, int(mask.sum())
        mask, need = masks[id(matching)]
        suited = {index: row for index, row in held.items() if mask[index]}
        if suited:
            yield _Piece(number, len(suited), start, end, mask, need, suited)


def _staying(movables: Movables, moving: Collection[str]) -> InUse:
    """Return when resources are in use by what does not move."""
    rows = movables.rows
    stays: Mask = ~movables.is_movable[rows]
    for at in np.flatnonzero(~stays).tolist():
        stays[at] = movables.allocation(int(rows[at])).id not in moving
    return in_use(movables.calendar.occupancy, rows[stays], movables.width)
