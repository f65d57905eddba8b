"""Choose resources for one demand: first those that it has, then the others in order, until it has enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.planning.candidate import Candidate, Choice
from blazar.domain.planning.demand import Grouping, Order
from blazar.domain.requirement.language import Mask

_COUNTED = 2**31 - 1


class Preference:
    """The order in which resources are taken; it is the same for the whole request."""

    def __init__(self, order: Order, rank: Ints, seed: int | None, contended: Sequence[int] = ()) -> None:
        """The indexes ``contended`` come last."""
        self._packed = order is Order.PACKED
        self._rank = rank if self._packed else np.random.default_rng(seed).permutation(len(rank))
        self._last: Ints | None = None
        if contended:
            self._last = np.zeros(len(rank), np.int64)
            self._last[list(contended)] = 1 << 53

    def keys(self, indexes: Ints, units: Ints, used: Mask, whole: bool) -> Ints:
        """Return numbers that sort ``indexes``; ``units`` and ``used`` are given for all indexes."""
        keys: Ints = self._rank[indexes]
        if not whole and self._packed:
            unused = np.where(used[indexes], 0, 1 << 52)
            keys = unused | (np.minimum(units[indexes], _COUNTED) << 20) | keys
        return keys if self._last is None else keys | self._last[indexes]


def choose(
    candidate: Candidate,
    units: Ints,
    used: Mask,
    preference: Preference,
    least: int,
    most: int,
    needed: Choice,
) -> Choice | None:
    """Return from ``least`` to ``most`` units, as many as there are, with at least ``needed``; None where
    that is impossible.

    ``units`` is the capacity of each index. For one demand alone this is exact: it finds ``least`` units
    wherever they exist, and ``most`` wherever grouping and what it has already allow. The cost is some passes
    over the pool."""
    if sum(needed.values()) > most or any(units[index] < slots for index, slots in needed.items()):
        return None
    if candidate.demand.grouping is Grouping.TOGETHER:
        return _together(candidate, units, used, preference, least, most, needed)
    chosen = dict(needed)
    left = most - sum(chosen.values())
    for index, slots in candidate.held.items():
        left -= _raise(chosen, index, min(slots, int(units[index])), left)
    for index in list(chosen):
        left -= _raise(chosen, index, int(units[index]), left)
    if left:
        elsewhere = units.copy()
        elsewhere[list(chosen)] = 0
        chosen |= _fill(elsewhere, used, preference, left, candidate.is_whole)
    return chosen if sum(chosen.values()) >= least else None


def is_enough(candidate: Candidate, units: Ints) -> bool:
    """Return whether ``choose`` finds the least of the candidate, where that is no more than its most."""
    if any(units[index] < slots for index, slots in candidate.needed.items()):
        return False
    if candidate.demand.grouping is Grouping.TOGETHER:
        chosen = units[list(candidate.needed)] if candidate.needed else units
        return len(candidate.needed) <= 1 and int(chosen.max(initial=0)) >= candidate.least
    return int(units.sum()) >= candidate.least


def keep(candidate: Candidate, units: Ints) -> Choice:
    """Return what the demand must get, and as much of what it has now as it may have and as there is capacity
    for."""
    most = candidate.most
    if candidate.demand.grouping is Grouping.TOGETHER and len(candidate.needed) <= 1:
        enough = max(candidate.least, 1)
        indexes = [index for index in candidate.needed or candidate.held if most and units[index] >= enough]
        return {index: min(most, int(units[index])) for index in indexes[:1]} or dict(candidate.needed)
    kept = dict(candidate.needed)
    left = most - sum(kept.values())
    for index, slots in candidate.held.items():
        left -= _raise(kept, index, min(slots, int(units[index])), left)
    return kept


def _raise(chosen: Choice, index: int, slots: int, left: int) -> int:
    """Give the index up to ``slots`` in all, but add no more than ``left``. Return the number added."""
    more = min(slots - chosen.get(index, 0), left)
    if more <= 0:
        return 0
    chosen[index] = chosen.get(index, 0) + more
    return more


def _fill(units: Ints, used: Mask, preference: Preference, wanted: int, whole: bool) -> Choice:
    indexes = np.flatnonzero(units > 0)
    keys = preference.keys(indexes, units, used, whole)
    if 2 * wanted < len(indexes):
        # Each index has capacity for at least one unit, so no more than `wanted` of them are needed.
        nearest = np.argpartition(keys, wanted)[:wanted]
        indexes, keys = indexes[nearest], keys[nearest]
    indexes = indexes[np.argsort(keys)]
    reached = np.cumsum(np.minimum(units[indexes], wanted))
    indexes = indexes[: np.searchsorted(reached, wanted) + 1]
    chosen: Choice = dict(zip(indexes.tolist(), np.minimum(units[indexes], wanted).tolist(), strict=True))
    if chosen:
        last = next(reversed(chosen))
        chosen[last] -= max(0, sum(chosen.values()) - wanted)
    return chosen


def _together(
    candidate: Candidate,
    units: Ints,
    used: Mask,
    preference: Preference,
    least: int,
    most: int,
    needed: Choice,
) -> Choice | None:
    enough = max(least, 1)
    if len(needed) > 1 or not most:
        return None if needed or least else {}
    for index in needed or candidate.held:
        if units[index] >= enough:
            return {index: min(most, int(units[index]))}
    wanted = int(min(most, units.max(initial=0)))
    if needed or wanted < enough:
        return None if needed or least else {}
    indexes = np.flatnonzero(units >= wanted)
    index = int(indexes[np.argmin(preference.keys(indexes, units, used, candidate.is_whole))])
    return {index: wanted}
