"""Plan whole resources anew, by numbers first: a request together with all that is movable.

Resources that suit the same demands are alike, so first only numbers count: how many resources of each class
each demand gets (``planning.shares``). It proves that there is no way, where Hall's condition fails, and
nearly always finds one, where there is one.

Then resources are given out. What keeps its class keeps its resource too, as long as it can. What has none
comes in the order of the starts: it takes resources that are free at its start, first those that are free for
all of its time, or else those where what is in the way fits elsewhere, and begins the latest. What is driven
out so starts later, and its turn is yet to come. What is movable has not begun, so as long as nothing that
stays begins later on, numbers that fit can always be given out (a colouring of an interval graph).

Example: hosts 1 and 2 have no GPU, host 3 has one. A, which needs none, is on host 3 from 10 to 12, B on
host 1 from 9 to 11, C on host 2 from 11 to 13. D needs a GPU from 10 to 13. By numbers D gets the host with a
GPU and A one without: there are two of these, and never more than A and B, or A and C. D takes host 3. A
starts at 10, when host 1 is in use and host 2 is free, so A takes host 2. C was planned there from 11 on, and
takes host 1.

What a request asks for by name, as an active lease does for its hosts, counts as staying there.

The cost is a pass over the pool for each different requirement, some over the allocations in the time that
is looked at, what ``planning.shares`` costs, and some passes over the allocations for each demand that gets
other resources. It plans no amounts of shared resources.

How close this comes to what an exact solver finds was measured: see ``bench/late_binding.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.lazy import lazy
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.gaps import Gaps
from blazar.domain.planning.movable import Rearrangement, rearrangement
from blazar.domain.planning.plan import Assignment
from blazar.domain.planning.shares import shares
from blazar.domain.planning.wholes import NOWHERE, Wholes
from blazar.domain.resource import PlannedMove

_PASSES = 8


def repacked(
    calendar: CalendarSnapshot, request: PlanRequest, movable: Sequence[Demand], budget: Budget
) -> Rearrangement | None:
    """Return the plan of a request for whole resources, with the minimum of each of its demands, and the
    moves that make room for it; None where there is no way. The arguments are those of ``rearrange``. Raises
    CutShort where it is not known."""
    wholes = Wholes(calendar, request, movable, budget)
    wanted = wholes.wanted
    if not wholes.allows_named() or int(wanted.slack.min(initial=0)) < 0:
        raise CutShort
    is_impossible = wanted.is_impossible()
    if is_impossible and wholes.is_all:
        return None
    share = None if is_impossible else shares(wanted, wholes.order, budget)
    if share is None:
        raise CutShort
    return _outcome(wholes, _Places(wholes, budget).given_out(share))


class _Places:
    """Where each unit is planned, while they are given out."""

    def __init__(self, wholes: Wholes, budget: Budget) -> None:
        self._wholes = wholes
        self._budget = budget
        self._place = wholes.place.copy()
        self._start, self._end = wholes.start[wholes.piece], wholes.end[wholes.piece]
        self._first = np.cumsum(wholes.units) - wholes.units
        """By piece: its first unit."""
        self._gaps_of: dict[int, Gaps] = {}
        """By class, as things were planned."""
        self._waiting: list[tuple[int, int, int]] = []
        """A heap of starts, each with a piece, and a class in which it lacks something."""

    def given_out(self, share: Ints) -> Ints:
        """Return by unit the index where it is planned, so that each piece has its share of each class.
        Raises CutShort where something that begins later and stays is in the way."""
        lacking = share - self._wholes.wanted.has
        for of_class, piece in np.argwhere(lacking < 0).tolist():
            self._leave(piece, of_class, -int(lacking[of_class, piece]))
        self._lacking = np.maximum(lacking, 0)
        self._waiting = [
            (int(self._wholes.start[piece]), piece, of_class)
            for of_class, piece in np.argwhere(lacking > 0).tolist()
        ]
        heapify(self._waiting)
        while self._waiting:
            _, piece, of_class = heappop(self._waiting)
            if self._lacking[of_class, piece]:
                self._give(piece, of_class)
        return self._place

    def _units(self, piece: int) -> slice:
        first = int(self._first[piece])
        return slice(first, first + int(self._wholes.units[piece]))

    def _leave(self, piece: int, of_class: int, count: int) -> None:
        """Take units of a class from a piece: those first where the least else is in the way of the
        request."""
        units = self._units(piece).start + np.flatnonzero(self._place[self._units(piece)] != NOWHERE)
        units = units[self._wholes.class_of[self._place[units]] == of_class]
        order = np.argsort(self._in_the_way[self._place[units]], kind="stable")
        self._place[units[order[:count]]] = NOWHERE

    @lazy
    def _in_the_way(self) -> Ints:
        """Return by index how much is planned in the time of the request. What stays counts more than all
        that may move."""
        start, end = self._wholes.asked
        here = (self._start < end) & (self._end > start) & (self._place >= 0)
        counts = np.bincount(self._place[here], minlength=len(self._wholes.class_of))
        counts[self._wholes.fixed.during(start, end)] += len(self._place)
        return counts

    def _give(self, piece: int, of_class: int) -> None:
        """Give a piece what it lacks of a class, and take it from what begins later there."""
        count = int(self._lacking[of_class, piece])
        chosen = self._best(piece, of_class, count)
        self._drive_out(chosen, piece, of_class)
        units = self._units(piece)
        homeless = units.start + np.flatnonzero(self._place[units] == NOWHERE)
        self._place[homeless[:count]] = chosen
        self._lacking[of_class, piece] = 0

    def _best(self, piece: int, of_class: int, count: int) -> Ints:
        """Return so many resources of a class that are free at the start of the piece: those with the
        shortest gap that is long enough, or else those where the least has to go that fits nowhere else, and
        the next begins the latest."""
        wholes, start, end = self._wholes, int(self._wholes.start[piece]), int(self._wholes.end[piece])
        self._budget.spend(of_array(len(self._place) + len(wholes.class_of), _PASSES))
        is_free = wholes.class_of == of_class
        is_free[wholes.fixed.during(start, end)] = False
        is_free[self._place[(self._start <= start) & (self._end > start) & (self._place >= 0)]] = False
        free = np.flatnonzero(is_free)
        if len(free) < count:
            raise CutShort
        following = self._following(start)[free]
        is_long = following >= end
        gap = np.where(is_long, following, -following)
        stuck = (
            np.zeros(len(free), np.int64)
            if is_long.sum() >= count
            else self._stuck(start, end, of_class)[free]
        )
        return free[np.lexsort((wholes.calendar.rank[free], gap, stuck, ~is_long))[:count]]

    def _stuck(self, start: int, end: int, of_class: int) -> Ints:
        """Return by index how much is there in this time that fits nowhere else in the class, as things were
        planned."""
        here = np.flatnonzero((self._start < end) & (self._end > start) & (self._place != NOWHERE))
        is_stuck = ~self._gaps(of_class).hold(self._start[here], self._end[here])
        return np.bincount(self._place[here[is_stuck]], minlength=len(self._wholes.class_of))

    def _gaps(self, of_class: int) -> Gaps:
        if of_class not in self._gaps_of:
            wholes, fixed = self._wholes, self._wholes.fixed
            there = np.flatnonzero(wholes.place != NOWHERE)
            self._budget.spend(of_array(len(there) + len(fixed.indexes), _PASSES))
            self._gaps_of[of_class] = Gaps(
                wholes.class_of == of_class,
                np.concatenate((fixed.indexes, wholes.place[there])),
                np.concatenate((fixed.begins, self._start[there])),
                np.concatenate((fixed.ends, self._end[there])),
            )
        return self._gaps_of[of_class]

    def _following(self, moment: int) -> Ints:
        """Return by index when the next begins after the moment."""
        following = self._wholes.fixed.next_after(moment, len(self._wholes.class_of))
        later = (self._start > moment) & (self._place >= 0)
        np.minimum.at(following, self._place[later], self._start[later])
        return following

    def _drive_out(self, chosen: Ints, piece: int, of_class: int) -> None:
        """Take what is there in the time of the piece away from these resources, for it to come later."""
        start, end = self._wholes.start[piece], self._wholes.end[piece]
        is_chosen = np.zeros(len(self._wholes.class_of) + 1, bool)  # the last one stands for NOWHERE
        is_chosen[chosen] = True
        going = np.flatnonzero((self._start < end) & (self._end > start) & is_chosen[self._place])
        self._place[going] = NOWHERE
        for other, count in Counter(self._wholes.piece[going].tolist()).items():
            self._lacking[of_class, other] += count
            heappush(self._waiting, (int(self._wholes.start[other]), other, of_class))


def _outcome(wholes: Wholes, places: Ints) -> Rearrangement:
    """Return the plan and the moves. Raises CutShort where what moves is not as it was read."""
    id_at = wholes.calendar.id_at
    demands = wholes.request.demands
    assigned = [Assignment(demands[number].reservation_id, id_at(index)) for number, index in wholes.named]
    moves: list[PlannedMove] = []
    for piece in np.unique(wholes.piece[places != wholes.home]).tolist():
        units = wholes.piece == piece
        before, after = wholes.home[units], places[units]
        reached = after[~np.isin(after, before)]
        names = [id_at(index) for index in reached[np.argsort(wholes.calendar.rank[reached])].tolist()]
        if piece < len(wholes.new):
            reservation_id = demands[wholes.new[piece]].reservation_id
            assigned += [Assignment(reservation_id, name) for name in names]
        else:
            left = wholes.row[units][~np.isin(before, after)]
            rows = wholes.allocations(piece, left)
            moves += [PlannedMove(row, name, row.slots) for row, name in zip(rows, names, strict=True)]
    return rearrangement(wholes.calendar, wholes.request.interval, assigned, moves)
