"""How many resources of each class a piece gets, where only numbers count.

Resources that suit the same pieces are alike: they are a *class*. A piece wants so many units at one time, of
any of the classes that suit it. What has begun holds its resources from now on, so whole resources of a class
can be given out if and only if no more are wanted at any time than are free of what stays: intervals in the
order of their starts never need more than their peak.

First a proof is looked for that there is no way (Hall's condition): at a time, the pieces that can only be on
some classes want more than these have. Else the numbers that are planned now are changed, by a local search:

1. New pieces get what is free, and the rest all the same: so a class is *short* at some times.
2. The unit moves to another class that makes the shortages smaller by the most, with as many more of its
   piece as make them smaller still. Running sums over the times tell it for all pieces at once. For some
   moves the piece does not come back to the class that it left (tabu search).
3. Where no move makes them smaller, all that is short weighs more from now on, until one does (breakout
   method).

Few units move where few will do, for the search starts from what is planned.

Example: class A has no GPU and class B has one, with two hosts each. Z needs a GPU and has a host of B from 8
to 12. X needs none and has the other one from 8 to 12. Y needs none and has both hosts of A from 10 to 12. A
request for a GPU from 8 to 9 makes B short for that hour. To move X to A makes A short from 10 to 12 instead,
which is no better. Then what is short weighs more, so that X moves, and one unit of Y moves to B, where the
request is over by then.

A move costs some passes over the pieces and the times, for each class. Sources: F. Glover, "Tabu Search",
ORSA Journal on Computing 1, 1989; P. Morris, "The Breakout Method for Escaping from Local Minima", AAAI
1993."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blazar.domain.calendar.arrays import Ints
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.requirement.language import Mask

Weights = npt.NDArray[np.float64]

MOVES = 250
"""So many moves are tried; most searches that find a way need fewer than ten."""
STAYS_AWAY = 10
"""For so many moves a piece does not come back to a class."""
GROWTH = 1.5
"""What is short weighs so many times as much after it."""
_PASSES = 3
"""Passes over the pieces and the times of each class, for a move."""


@dataclass(frozen=True)
class Wanted:
    """The pieces, by numbers, and what is free beside what stays.

    Pieces of the same kind suit the same classes. ``first`` and ``last`` are positions among the times at
    which anything starts: a piece is there from the first to before the last one. New pieces have
    nothing."""

    first: Ints
    last: Ints
    units: Ints
    kind: Ints
    suits: Mask
    """By kind and class."""
    has: Ints
    """By class and piece: the units as planned now."""
    free: Ints
    """By class and time."""

    @property
    def slack(self) -> Ints:
        """Return by class and time how many resources are free as things are planned."""
        return self.free - self._summed(self.has)

    @property
    def lacking(self) -> Ints:
        """Return the pieces that have less than they want."""
        return np.flatnonzero(self.has.sum(axis=0) < self.units)

    def is_impossible(self) -> bool:
        """Return whether Hall's condition fails: the pieces that suit nothing beyond some classes, one that
        lacks something among them, want more than these have."""
        kinds = np.unique(self.kind[self.lacking])
        holds: Mask = np.all(self.suits[:, None] >= self.suits[kinds], axis=2)
        for suited in self.suits[holds.any(axis=1)]:
            inside = (self.suits <= suited).all(axis=1)[self.kind]
            wanted = self._summed(np.where(inside, self.units, 0)[None])[0]
            if (wanted > self.free[suited].sum(axis=0)).any():
                return True
        return False

    def _summed(self, units: Ints) -> Ints:
        """Return by row and time how many units are there, given by row and piece."""
        changes = np.zeros((len(units), self.free.shape[1] + 1), np.int64)
        rows = np.arange(len(units))[:, None]
        np.add.at(changes, (rows, self.first), units)
        np.add.at(changes, (rows, self.last), -units)
        summed: Ints = np.cumsum(changes, axis=1)[:, :-1]
        return summed


def shares(wanted: Wanted, order: Ints, budget: Budget) -> Ints | None:
    """Return by class and piece how many units it gets; None where no way was found. New pieces take what is
    free in this order of the classes. Raises CutShort."""
    search = _Search(wanted, budget)
    for piece in wanted.lacking.tolist():
        search.place(piece, order)
    number = 0
    while number < MOVES and not search.is_done():
        search.move(number)
        number += 1
    return search.share if search.is_done() else None


class _Search:
    """What the pieces have, with the slack that is left of each class at each time: less than nothing where
    the class is short."""

    def __init__(self, wanted: Wanted, budget: Budget) -> None:
        self._wanted = wanted
        self._budget = budget
        self._cost = of_array(wanted.has.size + wanted.free.size, _PASSES)
        self._suits = wanted.suits[wanted.kind].T
        self._weight = np.ones(wanted.free.shape)
        self._slack = wanted.slack
        classes, times = wanted.free.shape
        self._sums: Weights = np.zeros((2, classes, times + 1))
        self._random = np.random.default_rng(0)
        self._back_at: Ints = np.zeros(wanted.has.shape, np.int64)
        """By class and piece: the move at which it may come back."""
        self.share: Ints = wanted.has.copy()

    def is_done(self) -> bool:
        return int(self._slack.min(initial=0)) >= 0

    def place(self, piece: int, order: Ints) -> None:
        """Give a piece what is free in all of its time, and the rest of what it wants of the first class that
        suits it."""
        suited = order[self._suits[order, piece]]
        if not len(suited):
            return
        for of_class in suited.tolist():
            least = max(0, int(self._slack[of_class, self._time(piece)].min()))
            self._give(piece, of_class, min(least, self._lacking(piece)))
        self._give(piece, int(suited[0]), self._lacking(piece))

    def move(self, number: int) -> None:
        """Make the best move, of equal ones any; where none is good, let what is short weigh more."""
        self._budget.spend(self._cost)
        gains, costs = self._weights()
        costs += self._random.random(costs.shape)
        gains[self.share == 0] = -1
        costs[~self._suits | (self._back_at > number)] = np.inf
        best = gains.max(axis=0) - costs.min(axis=0)
        piece = int(best.argmax())
        # To leave a class and to come back costs at least what it brings, so these are two classes.
        if best[piece] <= 0:
            self._weight[self._slack < 0] *= GROWTH
            return
        source, target = int(gains[:, piece].argmax()), int(costs[:, piece].argmin())
        count = self._most(piece, source, target)
        self._give(piece, source, -count)
        self._give(piece, target, count)
        self._back_at[source, piece] = number + STAYS_AWAY

    def _weights(self) -> tuple[Weights, Weights]:
        """Return by class and piece what the times in the time of the piece weigh at which the class is
        short, and those at which it would be with one unit more."""
        short, full = self._sums
        np.cumsum(np.where(self._slack < 0, self._weight, 0), axis=1, out=short[:, 1:])
        np.cumsum(np.where(self._slack <= 0, self._weight, 0), axis=1, out=full[:, 1:])
        summed = self._sums.take(self._wanted.last, axis=2) - self._sums.take(self._wanted.first, axis=2)
        return summed[0], summed[1]

    def _most(self, piece: int, source: int, target: int) -> int:
        """Return how many units to move: each brings less than the one before, and the last one enough."""
        time = self._time(piece)
        short, free = -self._slack[source, time], self._slack[target, time]
        gain, cost = self._weight[source, time], self._weight[target, time]
        least, most = 1, int(min(self.share[source, piece], short.max()))
        while least < most:
            middle = (least + most + 1) // 2
            if gain[short >= middle].sum() > cost[free < middle].sum():
                least = middle
            else:
                most = middle - 1
        return least

    def _time(self, piece: int) -> slice:
        return slice(int(self._wanted.first[piece]), int(self._wanted.last[piece]))

    def _lacking(self, piece: int) -> int:
        return int(self._wanted.units[piece] - self.share[:, piece].sum())

    def _give(self, piece: int, of_class: int, count: int) -> None:
        self.share[of_class, piece] += count
        self._slack[of_class, self._time(piece)] -= count
