"""The steps of curves: from a value for each minute to the moments at which something changes.

Where exact steps would be too many, a step is longer, and tells the worst that happens in it: the least that
is available, and the most that is reserved. So what a step promises is there at any minute of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.time import epoch

LENGTHS = (1, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440, 2880, 10080)
"""The minutes of a step from which one is chosen: with each of them, days begin with a step."""
LONGEST = LENGTHS[-1]


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """So many minutes from ``start`` on, and the moments at which curves may change: minutes in order, the
    first of them 0."""

    start: datetime
    minutes: int
    moments: Ints
    _pieces: dict[int, tuple[Ints, Ints]] = field(default_factory=dict, init=False, repr=False)
    """By length of a step: what ``pieces`` has found."""

    def pieces(self, length: int) -> tuple[Ints, Ints]:
        """Return the minutes at which steps of this length begin: the first, and all round ones; and for each
        step the number of the moment that it begins with, or in, and of the one behind its last."""
        if length not in self._pieces:
            offset = -(epoch(self.start) // 60) % length or length
            bounds = np.concatenate(([0], np.arange(offset, self.minutes, length)))
            pieces = np.empty(2 * len(bounds), np.int64)
            pieces[::2] = np.searchsorted(self.moments, bounds, "right") - 1
            pieces[1:-1:2] = np.searchsorted(self.moments, bounds[1:])
            pieces[-1] = len(self.moments)
            self._pieces[length] = bounds, pieces
        return self._pieces[length]


@dataclass(frozen=True, eq=False)
class Curve:
    """The value from each moment of an axis on. A step of many minutes tells the smallest of its values; the
    largest where ``tells_most``."""

    values: Ints
    tells_most: bool = False

    def within(self, pieces: Ints) -> Ints:
        """Return the value of each piece; their first and last moments follow each other in ``pieces``."""
        worst = np.maximum if self.tells_most else np.minimum
        # What reduceat wants behind the last moment is a moment as well.
        values: Ints = worst.reduceat(np.append(self.values, self.values[-1]), pieces)[::2]
        return values


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves by name, whose steps are told together."""

    axis: TimeAxis
    by_name: Mapping[str, Curve]


@dataclass(frozen=True, slots=True)
class Steps:
    """When curves change, and the values from there on, by the name of the curve: as columns, for there may
    be thousands."""

    minutes: Sequence[int]
    """Minutes after the start of the axis; the first is 0."""
    values: Mapping[str, Sequence[int]]


def stepped(curves: Curves, length: int) -> Steps:
    """Return the steps of curves. Steps between which nothing changes are one."""
    bounds, values = _changes(curves, length)
    return Steps(bounds.tolist(), {name: column.tolist() for name, column in values.items()})


def count(several: Iterable[Curves], length: int, budget: Budget) -> int:
    """Return how many steps of this length these curves have, each set of them by itself. Raises
    CutShort."""
    found = 0
    for curves in several:
        points = len(curves.axis.moments) + curves.axis.minutes // length
        budget.spend(of_array(points, len(curves.by_name)))
        found += len(_changes(curves, length)[0])
    return found


def length_for(several: Sequence[Curves], most: int, budget: Budget) -> int:
    """Return a length with which these curves have at most so many steps, and with a shorter one more; the
    longest where none is long enough. Raises CutShort."""

    def are_few(length: int) -> bool:
        if sum(2 + curves.axis.minutes // length for curves in several) <= most:
            return True  # even if something changes at each of them
        return count(several, length, budget) <= most

    if are_few(LENGTHS[0]):
        return LENGTHS[0]
    return LENGTHS[min(bisect_left(LENGTHS, True, 1, key=are_few), len(LENGTHS) - 1)]


def _changes(curves: Curves, length: int) -> tuple[Ints, Mapping[str, Ints]]:
    """Return the minutes at which steps begin, and the values from there on."""
    axis = curves.axis
    bounds, values = axis.moments, {name: curve.values for name, curve in curves.by_name.items()}
    if length > 1:
        bounds, pieces = axis.pieces(length)
        values = {name: curve.within(pieces) for name, curve in curves.by_name.items()}
    changed = np.zeros(len(bounds), bool)
    changed[0] = True
    for column in values.values():
        changed[1:] |= column[1:] != column[:-1]
    return bounds[changed], {name: column[changed] for name, column in values.items()}
