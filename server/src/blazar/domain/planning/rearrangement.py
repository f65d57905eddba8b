"""Make room for a request that does not fit as things are planned, but does in sum: move what is only
planned.

An allocation of a lease that has not begun is a plan, so another resource may serve it as well. *Movable* is
what the caller says so of; all else stays. A request for whole resources is planned by numbers
(``planning.repacking``). Where that does not tell it, and for parts of resources, the search has two steps:

1. The gate. A request that does not fit in sum is refused at once: at each instant, what has to be on the
   resources that suit a demand is counted against what they have.
2. Chains of moves (ejection chains). The request is laid where only movable allocations are in the way. What
   it drives out is laid on other resources, where the same may happen, until nothing is in the way. What the
   search has laid somewhere stays there, so each chain ends.

First only few moves are tried, then twice as many, and so on. Without a bound on the moves the search is
exact: if there is any way to serve the request and to give each movable reservation as many units as it has,
the chains lead to it. For take such a way. The request goes where it is there; what that drives out goes
where it is there; and so on. None of it has to move again, for all that is laid is where it is in that way.
On a resource that is shared, several sets of allocations may have to go. All are tried of which no part would
do, for what has to leave in the end includes one of them.

Example: host 1 has no GPU, hosts 2 and 3 have one. A, which needs none, is planned on host 2 from 10 to 12;
B, which needs one, on host 3 from 9 to 13. A lease with a GPU from 11 to 14 is laid on host 2, and A moves to
host 1. If C has host 1 from 11 to 15, and would do with host 4 as well, which is in use until 10:30, then A
moves to host 1 and C to host 4.

The cost is a pass over the allocations in the time that is looked at, some passes over the pool for each
demand and interval that is laid, and a look at each resource that is tried. The budget bounds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

import numpy as np

from blazar.domain.calendar.arrays import Ints, sorted_order
from blazar.domain.calendar.columns import amounts_of
from blazar.domain.calendar.snapshot import CalendarSnapshot, seconds
from blazar.domain.calendar.window import Window
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.planning.candidate import Candidate, candidate_for
from blazar.domain.planning.capacity import Capacity
from blazar.domain.planning.choice import Preference
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.planning.gaps import Gaps
from blazar.domain.planning.gate import different
from blazar.domain.planning.movable import Movables, Rearrangement, in_use, mask_of, rearrangement
from blazar.domain.planning.parts import repacked_parts
from blazar.domain.planning.plan import Assignment
from blazar.domain.planning.repacking import repacked
from blazar.domain.requirement.language import Mask
from blazar.domain.resource import Allocation, PlannedMove
from blazar.domain.time import FOREVER, Interval, epoch

FEW = 200
"""Leases that are looked at where there are too many."""
_PASSES = 8
"""Passes over arrays for the gate, and for the places of one demand."""


def movable_allocations(
    calendar: CalendarSnapshot, request: PlanRequest, since: datetime, most: int, budget: Budget
) -> dict[str, list[Allocation]]:
    """Return by lease what may have to be moved: what starts at ``since`` or later, in the time of the
    request, or in that of what could be moved for it. Where these are more leases than ``most``, or than FEW
    where parts of resources are asked for or may move, only a FEW that are worth a look. Empty where the
    request does not fit in sum even so. Raises CutShort."""
    occupancy, width = calendar.occupancy, seconds(request.cleaning)
    begin, end = epoch(request.interval.start) - width, epoch(request.interval.end) + width
    is_whole = all(demand.usage.whole for demand in request.demands)
    before, rows = -1, np.zeros(0, np.int64)
    while len(rows) > before and len(different(occupancy.lease[rows])) <= most:
        before = len(rows)
        rows = occupancy.overlapping(begin, end)
        budget.spend(of_array(len(rows) + len(occupancy.first), _PASSES))
        rows = rows[occupancy.start[rows] >= epoch(since)]
        if not is_whole or not occupancy.whole[rows].all():
            most = min(most, FEW)
        ends = occupancy.end[rows]
        begin = min(begin, int(occupancy.start[rows].min(initial=begin)) - width)
        end = max(end, int(ends[ends < epoch(FOREVER)].max(initial=end)) + width)
    if not len(rows) or not _could_fit(calendar, request, rows, budget):
        return {}
    if len(rows) > before:
        rows = _few(calendar, request, rows, (begin, end), budget)
    found: dict[str, list[Allocation]] = {}
    for row in rows.tolist():
        allocation = occupancy.allocations[row]
        if allocation is not None:
            found.setdefault(allocation.lease_id, []).append(allocation)
    return found


def _few(
    calendar: CalendarSnapshot, request: PlanRequest, rows: Ints, around: tuple[int, int], budget: Budget
) -> Ints:
    """Return the movable rows of a few leases that are worth a look: first in the time of the request, on
    resources that suit it, where the fewest are in the way that fit nowhere else as things are, and the
    fewest at all; then those nearest in time. ``around`` is a time that has all of the rows."""
    occupancy, size, width = calendar.occupancy, calendar.columns.size, seconds(request.cleaning)
    suits: Mask = np.zeros(size, bool)
    for demand in request.demands:
        suits |= candidate_for(calendar, demand, budget).matching
    suits &= calendar.columns.reservable
    begin, end = epoch(request.interval.start) - width, epoch(request.interval.end) + width
    there = occupancy.overlapping(*around)
    budget.spend(of_array(len(there) + len(rows) + size, _PASSES))
    index = occupancy.index[there].astype(np.int64)
    gaps = Gaps(suits, index, occupancy.start[there], occupancy.end[there] + width)
    is_there = (occupancy.start[there] < end) & (occupancy.end[there] > begin)
    if all(demand.usage.whole for demand in request.demands):
        suits[index[is_there & ~mask_of(occupancy, rows)[there]]] = False
    rows_there = rows[(occupancy.start[rows] < end) & (occupancy.end[rows] > begin)]
    rows_there = rows_there[suits[occupancy.index[rows_there]]]
    in_the_way = np.bincount(occupancy.index[rows_there], minlength=size)
    rows_there = rows_there[np.argsort(in_the_way[occupancy.index[rows_there]], kind="stable")][: FEW * 25]
    index = occupancy.index[rows_there].astype(np.int64)
    is_stuck = ~gaps.hold(occupancy.start[rows_there], occupancy.end[rows_there] + width)
    stuck = np.bincount(index[is_stuck], minlength=size)
    leases = occupancy.lease[rows_there[np.argsort(stuck[index], kind="stable")]]
    chosen = [*dict.fromkeys(leases.tolist())][:FEW]
    if len(chosen) < FEW:
        distance = np.maximum(occupancy.start[rows] - end, begin - occupancy.end[rows])
        nearest = occupancy.lease[rows[np.argsort(distance, kind="stable")]]
        chosen = [*dict.fromkeys([*chosen, *nearest.tolist()])][:FEW]
    few: Ints = rows[np.isin(occupancy.lease[rows], chosen)]
    return few


def _could_fit(calendar: CalendarSnapshot, request: PlanRequest, movable: Ints, budget: Budget) -> bool:
    """Return whether it fits in sum as far as that is known without the leases: what is movable may go
    anywhere, but where a demand suits all resources, that is nowhere else."""
    is_movable = mask_of(calendar.occupancy, movable)
    for demand in request.demands:
        candidate = candidate_for(calendar, demand, budget)
        suits_all = not (calendar.columns.reservable & ~candidate.matching).any()
        gone = None if suits_all else is_movable
        if not _fits_in_sum(calendar, candidate, request.interval, gone, is_movable, budget):
            return False
    return True


def rearrange(
    calendar: CalendarSnapshot,
    request: PlanRequest,
    movable: Sequence[Demand],
    budget: Budget,
    chains: int | None = None,
) -> Rearrangement | None:
    """Return the plan of a new request, with the minimum of each of its demands, and the moves that make room
    for it; None where there is none. ``movable`` are reservations that have not begun, with what they have as
    their ``current`` allocations, as the calendar has them.

    Chains of moves have so many steps, or all where ``chains`` is None. Raises CutShort where it is not
    known then, or where the budget is spent before."""
    candidates = [candidate_for(calendar, each, budget) for each in request.demands]
    if not all(map(_is_possible, candidates)):
        return None
    is_whole = all(each.is_whole for each in candidates)
    if is_whole:
        with suppress(CutShort):
            return repacked(calendar, request, movable, budget)
    if not is_whole or not all(each.usage.whole for each in movable):
        movables = Movables(calendar, request, movable, budget)
        try:
            return _by_chains(movables, budget if chains is None else budget.part(chains))
        except CutShort:
            return repacked_parts(movables, budget)
    # To read many takes more than this: chains find nothing then that numbers do not.
    part = budget if chains is None else budget.part(chains // 2)
    return _by_chains(Movables(calendar, request, movable, part), part)


def _by_chains(movables: Movables, budget: Budget) -> Rearrangement | None:
    search = _Search(movables, budget)
    return search.run() if search.fits_in_sum() else None


class _Size(NamedTuple):
    """What a piece of a demand takes of its resource."""

    amounts: tuple[tuple[str, int], ...] | None
    """None takes the whole resource."""
    units: int
    """So many units are one piece: all of them where they stay together."""
    is_apart: bool


class _Occupant(NamedTuple):
    """What is on a resource. ``demand`` is the number of the one that it serves; None where it is fixed."""

    start: int
    end: int
    amounts: tuple[tuple[str, int], ...] | None
    """Of one piece; None takes the whole resource."""
    demand: int | None
    allocation: Allocation | None
    pieces: int


class _Piece(NamedTuple):
    """A part of a demand that is laid on one resource."""

    demand: int
    start: int
    end: int
    allocation: Allocation | None = None
    """What it is a part of; None for a new demand."""
    home: int = -1
    """The index that it leaves."""
    only: int = -1
    """The one index on which it may be; -1 for any."""


Pending = tuple[_Piece, "Pending | None"]
"""The pieces that are still to be laid: the next one, and the rest."""


class _Places(NamedTuple):
    """Where a piece could be if nothing movable were there, those first where the least is in the way."""

    indexes: Ints
    least: Ints
    """By position: at least so many pieces have to go, where the search has laid nothing."""
    position: Ints
    """By index; -1 where it cannot be."""


class _Search:
    """The chains of moves of one request. A demand has a number: first come those of the request, then the
    movable ones. Times are seconds since 1970-01-01 UTC."""

    def __init__(self, movables: Movables, budget: Budget) -> None:
        self._movables = movables
        self._calendar = movables.calendar
        self._columns = movables.calendar.columns
        self._request = movables.request
        self._budget = budget
        self._width = movables.width
        self._preference = Preference(self._request.order, self._calendar.rank, self._request.seed)
        self._new = movables.new
        self._candidates = movables.candidates
        self._named = {index for each in self._candidates[: self._new] for index in each.needed}
        self._masks = list({id(each.matching): each.matching for each in self._candidates}.values())
        self._sizes = [
            _size(demand, candidate.least if number < self._new else sum(row.slots for row in demand.current))
            for number, (demand, candidate) in enumerate(zip(movables.demands, self._candidates, strict=True))
        ]
        self._rows, self._row_indexes, self._movable = movables.rows, movables.indexes, movables.is_movable
        self._occupied: Mask = np.zeros(self._columns.size, bool)
        self._occupied[self._row_indexes] = True
        self._base: dict[int, list[_Occupant]] = {}
        """By index: what the calendar has there."""
        self._windows: dict[tuple[int, int], tuple[Window, Window]] = {}
        self._places: dict[tuple[int, int, int], _Places] = {}
        self._gone: dict[str, int] = {}
        """By the id of an allocation: how many of its pieces were driven out."""
        self._laid: dict[int, list[_Piece]] = {}
        """By index: what the search has laid there. It stays."""
        self._last: dict[int, list[int]] = {}
        """By new demand: the positions at which its pieces were laid, in order."""
        self._is_bounded = False
        """Whether something was not tried, for it takes too many moves."""

    def fits_in_sum(self) -> bool:
        """Return whether each new demand fits beside what can only be on resources that suit it."""
        occupancy = self._calendar.occupancy
        rows = self._rows[self._movable[self._rows]]
        numbers = [self._movables.number_of(self._movables.allocation(row)) for row in rows.tolist()]
        for candidate in self._candidates[: self._new]:
            elsewhere = self._columns.reservable & ~candidate.matching
            self._budget.spend(of_array(len(elsewhere), len(self._masks)))
            leaving = {id(mask) for mask in self._masks if (mask & elsewhere).any()}
            leaves = np.array(
                [n is not None and id(self._candidates[n].matching) in leaving for n in numbers]
            )
            leaves = leaves.astype(bool)
            gone = mask_of(occupancy, rows[leaves])
            interval = self._request.interval
            if not _fits_in_sum(self._calendar, candidate, interval, gone, self._movable, self._budget):
                return False
        return True

    def run(self) -> Rearrangement | None:
        pieces = [piece for number in range(self._new) for piece in self._pieces(number)]
        limit = self._fewest(pieces)
        while limit is not None:
            self._is_bounded = False
            if self._lay_all(pieces, limit):
                return self._result()
            limit = limit * 2 if self._is_bounded else None
        return None

    def _pieces(self, number: int) -> Iterator[_Piece]:
        """Yield the pieces of a new demand, first those that must be somewhere."""
        candidate, interval = self._candidates[number], self._request.interval
        units = max(self._sizes[number].units, 1)
        piece = _Piece(number, epoch(interval.start), epoch(interval.end))
        whole_together = candidate.is_whole and candidate.demand.grouping is Grouping.TOGETHER
        left = (min(candidate.least, 1) if whole_together else candidate.least) // units
        for index, slots in candidate.needed.items():
            for _ in range(-(-slots // units)):
                yield piece._replace(only=index)
                left -= 1
        for _ in range(left):
            yield piece

    def _fewest(self, pieces: Sequence[_Piece]) -> int | None:
        """Return a lower bound of the moves; None where a demand cannot be served even if nothing movable
        were there."""
        fewest = 1
        for number in range(self._new):
            own = [piece for piece in pieces if piece.demand == number]
            least = self._places_of(own[0]).least if own else ()
            if own and not len(least):
                return None
            if self._sizes[number].amounts is None:
                if len(least) < len(own):
                    return None
                fewest = max(fewest, int(sum(least[: len(own)])))
        return fewest

    def _lay_all(self, pieces: Sequence[_Piece], limit: int) -> bool:
        """Try all ways with so many moves, deep ones first, and stop at the first one that serves all.

        A stack of generators stands for the recursion, which would be as deep as there are pieces."""
        pending: Pending | None = None
        for piece in reversed(pieces):
            pending = (piece, pending)
        if pending is None:
            return True
        stack = [self._tries(pending, limit)]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                continue
            following, moves = step
            if following is None:
                return True
            stack.append(self._tries(following, moves))
        return False

    def _tries(self, pending: Pending, moves: int) -> Iterator[tuple[Pending | None, int]]:
        """Lay the next piece on one resource after another, and take it away again. Yield what is to be laid
        after it, and how many moves are left: what it drives out comes next, so that a way which leads
        nowhere ends early."""
        piece, rest = pending
        tried: set[object] = set()
        for index in self._indexes(piece, moves):
            signature = self._signature(index)
            if signature is not None and signature in tried:
                continue  # one that is just like it was tried
            tried.add(signature)
            for driven in self._ways(piece, index, moves):
                self._lay(piece, index, driven)
                following = rest
                for each in driven:
                    following = (each, following)
                if self._all_fit(index):
                    yield following, moves - len(driven)
                self._take_back(piece, index, driven)

    def _lay(self, piece: _Piece, index: int, driven: Sequence[_Piece]) -> None:
        self._laid.setdefault(index, []).append(piece)
        if piece.allocation is None and piece.only < 0:
            position = int(self._places_of(piece).position[index])
            self._last.setdefault(piece.demand, []).append(position)
        for each in driven:
            if each.allocation is not None:
                self._gone[each.allocation.id] = self._gone.get(each.allocation.id, 0) + 1

    def _take_back(self, piece: _Piece, index: int, driven: Sequence[_Piece]) -> None:
        self._laid[index].pop()
        if not self._laid[index]:
            del self._laid[index]
        if piece.allocation is None and piece.only < 0:
            self._last[piece.demand].pop()
        for each in driven:
            if each.allocation is not None:
                self._gone[each.allocation.id] -= 1

    def _indexes(self, piece: _Piece, moves: int) -> Iterator[int]:
        """Yield the resources to try. The pieces of a new demand are alike, so they are laid in the order of
        the places: each choice of places is tried once."""
        places = self._places_of(piece)
        if piece.only >= 0:
            if places.position[piece.only] >= 0:
                yield piece.only
            return
        first = (self._last.get(piece.demand) or [0])[-1] if piece.allocation is None else 0
        # How much is in the way where the search has laid something is not known before it is looked at.
        touched = sorted((int(places.position[index]), index) for index in self._laid)
        before = int(np.searchsorted(places.least, moves, side="right"))
        if before < len(places.indexes):
            self._is_bounded = True
        known = (index for position, index in touched if position >= max(first, before))
        for index in (*known, *places.indexes[first:before].tolist()):
            if index != piece.home:
                yield index

    def _places_of(self, piece: _Piece) -> _Places:
        key = piece.demand, piece.start, piece.end
        if key not in self._places:
            self._places[key] = self._find_places(piece)
        return self._places[key]

    def _find_places(self, piece: _Piece) -> _Places:
        size = self._sizes[piece.demand]
        candidate = self._candidates[piece.demand]
        fixed, full = self._windows_of(piece)
        self._budget.spend(of_array(self._columns.size + full.rows, _PASSES))
        indexes = np.flatnonzero(Capacity(self._columns, fixed, [candidate]).alone(0) >= size.units)
        units = Capacity(self._columns, full, [candidate]).alone(0)
        if size.amounts is None:
            movable = full.overlapping[self._movable[full.overlapping]]
            counted = np.bincount(self._calendar.occupancy.index[movable], minlength=self._columns.size)
            least = counted[indexes].astype(np.int64)
        else:
            least = (units[indexes] < size.units).astype(np.int64)
        keys = self._preference.keys(indexes, units, full.occupied, size.amounts is None)
        order = np.lexsort((keys, least))
        position = np.full(self._columns.size, -1, np.int64)
        position[indexes[order]] = np.arange(len(indexes))
        return _Places(indexes[order], least[order], position)

    def _windows_of(self, piece: _Piece) -> tuple[Window, Window]:
        """Return the time of the piece without what is movable, and with it."""
        bounds = self._bounds(piece)
        if bounds not in self._windows:
            occupancy = self._calendar.occupancy
            self._windows[bounds] = (
                Window(self._columns, occupancy, *bounds, without=self._movable),
                Window(self._columns, occupancy, *bounds),
            )
            self._budget.spend(of_array(self._columns.size + len(occupancy.first), _PASSES))
        return self._windows[bounds]

    def _signature(self, index: int) -> object:
        """Return what makes an empty resource like another one; None for one that is not empty, or that a
        demand asks for by its name."""
        if self._occupied[index] or index in self._laid or index in self._named:
            return None
        names = {name for size in self._sizes for name, _ in size.amounts or ()}
        capacities = tuple(int(self._columns.capacity(name)[index]) for name in sorted(names))
        return capacities, tuple(bool(mask[index]) for mask in self._masks)

    def _ways(self, piece: _Piece, index: int, moves: int) -> Iterator[tuple[_Piece, ...]]:
        """Yield what has to go if the piece is laid there: each set of which no part would do."""
        size = self._sizes[piece.demand]
        bounds = self._bounds(piece)
        here = self._beside(piece, self._occupants(index))
        self._budget.spend(1 + len(here) // 4)
        if size.is_apart and any(each.demand == piece.demand for each in here):
            return
        # The pieces of a demand are alike: one has no reason to drive out another one.
        stay = [each for each in here if each.allocation is None or each.demand == piece.demand]
        rest = [each for each in here if each.allocation is not None and each.demand != piece.demand]
        if stay and (size.amounts is None or any(each.amounts is None for each in stay)):
            return
        wholes = [each for each in rest if size.amounts is None or each.amounts is None]
        going = tuple(_pieces_of(wholes, index))
        if len(going) > moves:
            self._is_bounded = True
        elif size.amounts is None:
            yield going
        else:
            shared = [each for each in rest if each.amounts is not None]
            for counts in self._least_counts(size, index, stay, shared, bounds, moves - len(going)):
                leaving = [each._replace(pieces=n) for each, n in zip(shared, counts, strict=True) if n]
                yield (*going, *_pieces_of(leaving, index))

    def _bounds(self, piece: _Piece) -> tuple[int, int]:
        """Return the time of the piece with the cleaning time around it."""
        return piece.start - self._width, piece.end + self._width

    def _beside(self, piece: _Piece, occupants: Iterable[_Occupant]) -> list[_Occupant]:
        """Return the occupants that overlap the time of the piece. Those of the same request count in all of
        its cleaning time, for they have the same."""
        start, end = self._bounds(piece)
        found = []
        for each in occupants:
            if each.demand is not None and self._request_of(each.demand) == self._request_of(piece.demand):
                found.append(each._replace(start=start, end=end))
            elif each.start < end and each.end > start:
                found.append(each)
        return found

    def _request_of(self, demand: int) -> int:
        return max(demand, self._new - 1)

    def _all_fit(self, index: int) -> bool:
        """Return whether what is laid there keeps its cleaning time, also where several allocations came
        together within it that do not overlap what came last."""
        if not self._width:
            return True
        for piece in self._laid[index]:
            size = self._sizes[piece.demand]
            if size.amounts is None:
                continue
            others = list(self._occupants(index))
            others.remove(self._occupant_of(piece))
            self._budget.spend(1 + len(others) // 4)
            if not self._fits(size, index, self._beside(piece, others), self._bounds(piece)):
                return False
        return True

    def _least_counts(
        self,
        size: _Size,
        index: int,
        stay: Sequence[_Occupant],
        shared: Sequence[_Occupant],
        bounds: tuple[int, int],
        moves: int,
    ) -> Iterator[tuple[int, ...]]:
        """Yield how many pieces of each shared occupant have to go so that the piece fits: the fewest first,
        and none beside fewer of the same."""
        if not self._fits(size, index, stay, bounds):
            return
        found: list[tuple[int, ...]] = []
        limits = [each.pieces for each in shared]
        for total in range(min(sum(limits), moves) + 1):
            for counts in _sums(limits, total):
                self._budget.spend(1 + len(shared) // 4)
                if any(all(map(int.__le__, other, counts)) for other in found):
                    continue
                left = [e._replace(pieces=e.pieces - n) for e, n in zip(shared, counts, strict=True)]
                if self._fits(size, index, [*stay, *left], bounds):
                    found.append(counts)
                    yield counts
            if found and not total:
                return
        if sum(limits) > moves:
            self._is_bounded = True

    def _fits(self, size: _Size, index: int, occupants: Sequence[_Occupant], bounds: tuple[int, int]) -> bool:
        for name, amount in size.amounts or ():
            moments = []
            for each in occupants:
                taken = each.pieces * sum(n for other, n in each.amounts or () if other == name)
                moments += [(max(each.start, bounds[0]), taken), (min(each.end, bounds[1]), -taken)]
            in_use = peak = 0
            for _, change in sorted(moments):  # of one moment, what ends comes first
                in_use += change
                peak = max(peak, in_use)
            if peak + amount > int(self._columns.capacity(name)[index]):
                return False
        return True

    def _occupants(self, index: int) -> Iterator[_Occupant]:
        """Yield what is on the resource now. What stays in any case has no allocation here."""
        if index not in self._base:
            first, last = np.searchsorted(self._row_indexes, [index, index + 1]).tolist()
            self._base[index] = [self._occupant(row) for row in self._rows[first:last].tolist()]
        for each in self._base[index]:
            gone = self._gone.get(each.allocation.id, 0) if each.allocation is not None else 0
            if not gone:
                yield each
            elif gone < each.pieces:
                yield each._replace(pieces=each.pieces - gone)
        yield from map(self._occupant_of, self._laid.get(index, ()))

    def _occupant_of(self, piece: _Piece) -> _Occupant:
        return _Occupant(piece.start, piece.end, self._sizes[piece.demand].amounts, piece.demand, None, 1)

    def _occupant(self, row: int) -> _Occupant:
        allocation = self._movables.allocation(row)
        start, end = epoch(allocation.interval.start), epoch(allocation.interval.end)
        number = self._movables.number_of(allocation)
        if number is None or not self._movable[row]:
            amounts = allocation.amounts
            taken = None if amounts is None else tuple(amounts.items())
            return _Occupant(start, end, taken, number, None, 1)
        size = self._sizes[number]
        return _Occupant(start, end, size.amounts, number, allocation, allocation.slots // size.units)

    def _result(self) -> Rearrangement:
        rank = self._calendar.rank
        moves: dict[tuple[str, str], PlannedMove] = {}
        slots: dict[tuple[int, int], int] = {}
        for index, laid in self._laid.items():
            resource_id = self._calendar.id_at(index)
            for piece in laid:
                units = max(self._sizes[piece.demand].units, 1)
                if piece.allocation is None:
                    slots[piece.demand, index] = slots.get((piece.demand, index), 0) + units
                    continue
                key = piece.allocation.id, resource_id
                before = moves[key].slots if key in moves else 0
                moves[key] = PlannedMove(piece.allocation, resource_id, before + units)
        assigned = [
            Assignment(demand.reservation_id, self._calendar.id_at(index), demand.usage, slots[number, index])
            for number, index in sorted(slots, key=lambda each: (each[0], int(rank[each[1]])))
            for demand in (self._request.demands[number],)
        ]
        return rearrangement(self._calendar, self._request.interval, assigned, list(moves.values()))


def _is_possible(candidate: Candidate) -> bool:
    """Return whether there is what a demand asks for by name, and that is not more than it may have."""
    is_apart = candidate.demand.grouping is Grouping.TOGETHER and len(candidate.needed) > 1
    return not (candidate.unknown or candidate.least > candidate.most or is_apart)


def _size(demand: Demand, units: int) -> _Size:
    is_together = demand.grouping is Grouping.TOGETHER and not demand.usage.whole
    each = units if is_together else 1
    amounts = None if demand.usage.whole else tuple((n, a * each) for n, a in amounts_of(demand.usage))
    return _Size(amounts, each, demand.grouping is Grouping.APART)


def _pieces_of(occupants: Iterable[_Occupant], index: int) -> Iterator[_Piece]:
    for each in occupants:
        for _ in range(each.pieces):
            assert each.demand is not None  # noqa: S101 - what is fixed does not go
            yield _Piece(each.demand, each.start, each.end, each.allocation, index)


def _sums(limits: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """Yield all numbers up to these limits that have the total as their sum."""
    if not limits:
        if not total:
            yield ()
        return
    for first in range(max(0, total - sum(limits[1:])), min(limits[0], total) + 1):
        for others in _sums(limits[1:], total - first):
            yield (first, *others)


def _fits_in_sum(
    calendar: CalendarSnapshot,
    candidate: Candidate,
    interval: Interval,
    gone: Mask | None,
    movable: Mask,
    budget: Budget,
) -> bool:
    """Return whether the demand fits at each instant of the interval beside the rows on resources that suit
    it, but for those that are ``gone``. What is ``movable`` may be on any of these resources.

    What it counts is never more than what has to be there, so False is a proof."""
    columns, occupancy = calendar.columns, calendar.occupancy
    start, end = epoch(interval.start), epoch(interval.end)
    suited = candidate.matching & columns.reservable
    rows = occupancy.overlapping(start, end)
    budget.spend(of_array(len(rows) + columns.size, _PASSES * (1 + len(candidate.amounts))))
    rows = rows[suited[occupancy.index[rows]]]
    if gone is not None:
        rows = rows[~gone[rows]]
    is_whole, is_fixed = occupancy.whole[rows], ~movable[rows]
    if candidate.is_whole:
        busy = in_use(occupancy, rows[is_whole | is_fixed])
        together = candidate.demand.grouping is Grouping.TOGETHER
        wanted = min(candidate.least, 1) if together else candidate.least
        most = _most(busy.begins, busy.ends, np.ones(len(busy.begins), np.int64), start, end)
        return wanted <= int(suited.sum()) - most
    # Allocations can be on a resource together that should not, after a maintenance by force or where it has
    # lost capacity. What is too much there is lacking nowhere else.
    fixed = in_use(occupancy, rows[is_whole & is_fixed])
    others = rows[is_whole & ~is_fixed]
    others = others[~np.isin(occupancy.index[others], fixed.indexes)]
    moving = in_use(occupancy, others)
    wholly = np.concatenate((fixed.indexes, moving.indexes))
    shared = rows[~is_whole]
    shared = shared[~np.isin(occupancy.index[shared], wholly)]
    window = Window(columns, occupancy, start, end)
    begins = np.concatenate((fixed.begins, moving.begins, occupancy.start[shared]))
    ends = np.concatenate((fixed.ends, moving.ends, occupancy.end[shared]))
    for name, amount in candidate.amounts:
        capacity = columns.capacity(name)
        fits = (window.peak(name) <= capacity)[occupancy.index[shared]]
        amounts = np.concatenate(
            (
                capacity[fixed.indexes],
                np.full(len(moving.indexes), _least(capacity[suited])),
                np.where(fits, occupancy.amounts(name, shared), 0),
            )
        )
        if amount * candidate.least > int(capacity[suited].sum()) - _most(begins, ends, amounts, start, end):
            return False
    return True


def _most(begins: Ints, ends: Ints, amounts: Ints, start: int, end: int) -> int:
    """Return the largest sum of the amounts at one instant of the time."""
    if not len(begins):
        return 0
    # At one moment, what ends comes first.
    moments = np.concatenate((np.minimum(ends, end) << 1, np.maximum(begins, start) << 1 | 1))
    changes = np.concatenate((-amounts, amounts))
    return max(0, int(np.cumsum(changes[sorted_order(moments)]).max()))


def _least(numbers: Ints) -> int:
    return int(numbers.min()) if len(numbers) else 0
