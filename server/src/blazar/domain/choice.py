"""Which of the resources with room a demand gets: what it has, then by order, until it has enough."""

from __future__ import annotations

import numpy as np

from blazar.domain.demand import Grouping, Order
from blazar.domain.facts import Ints
from blazar.domain.requirement import Mask
from blazar.domain.room import Choice, Prospect

_COUNTED = 2**31 - 1


class Preference:
    """The order in which resources are taken: fixed for one request."""

    def __init__(self, order: Order, rank: Ints, seed: int | None) -> None:
        self._packed = order is Order.PACKED
        self._rank = rank if self._packed else np.random.default_rng(seed).permutation(len(rank))

    def keys(self, places: Ints, units: Ints, used: Mask, whole: bool) -> Ints:
        """Numbers that sort ``places``; ``units`` and ``used`` are given for all places."""
        if whole or not self._packed:
            ranks: Ints = self._rank[places]
            return ranks
        unused = np.where(used[places], 0, 1 << 52)
        keys: Ints = unused | (np.minimum(units[places], _COUNTED) << 20) | self._rank[places]
        return keys


def choose(
    prospect: Prospect, units: Ints, used: Mask, preference: Preference, least: int, most: int, needed: Choice
) -> Choice | None:
    """From ``least`` to ``most`` units, as many as there are, with at least ``needed``; None where that is impossible.

    For one demand alone this is exact: it finds ``least`` units wherever they exist, and ``most`` wherever grouping and
    what it has already allow. ``units`` says how many each place has room for.
    """
    if sum(needed.values()) > most or any(units[place] < slots for place, slots in needed.items()):
        return None
    if prospect.demand.grouping is Grouping.TOGETHER:
        return _together(prospect, units, used, preference, least, most, needed)
    chosen = dict(needed)
    left = most - sum(chosen.values())
    for place, slots in prospect.held.items():
        left -= _raise(chosen, place, min(slots, int(units[place])), left)
    for place in list(chosen):
        left -= _raise(chosen, place, int(units[place]), left)
    if left:
        elsewhere = units.copy()
        elsewhere[list(chosen)] = 0
        chosen |= _fill(elsewhere, used, preference, left, prospect.is_whole)
    return chosen if sum(chosen.values()) >= least else None


def keep(prospect: Prospect, units: Ints) -> Choice:
    """As much of what the demand has now as it needs and has room for, and what it must get."""
    most = prospect.most
    if prospect.demand.grouping is Grouping.TOGETHER and len(prospect.needed) <= 1:
        enough = max(prospect.least, 1)
        places = [place for place in prospect.needed or prospect.held if units[place] >= enough]
        return {place: min(most, int(units[place])) for place in places[:1]} or dict(prospect.needed)
    kept = dict(prospect.needed)
    left = most - sum(kept.values())
    for place, slots in prospect.held.items():
        left -= _raise(kept, place, min(slots, int(units[place])), left)
    return kept


def _raise(chosen: Choice, place: int, slots: int, left: int) -> int:
    """Give the place up to ``slots`` in all, but no more than ``left`` in addition; the number added."""
    more = min(slots - chosen.get(place, 0), left)
    if more <= 0:
        return 0
    chosen[place] = chosen.get(place, 0) + more
    return more


def _fill(units: Ints, used: Mask, preference: Preference, wanted: int, whole: bool) -> Choice:
    places = np.flatnonzero(units > 0)
    keys = preference.keys(places, units, used, whole)
    if 2 * wanted < len(places):
        # Each place has room for one at least, so no more than `wanted` of them are needed.
        nearest = np.argpartition(keys, wanted)[:wanted]
        places, keys = places[nearest], keys[nearest]
    places = places[np.argsort(keys)]
    reached = np.cumsum(np.minimum(units[places], wanted))
    places = places[: np.searchsorted(reached, wanted) + 1]
    chosen: Choice = dict(zip(places.tolist(), np.minimum(units[places], wanted).tolist(), strict=True))
    if chosen:
        last = next(reversed(chosen))
        chosen[last] -= max(0, sum(chosen.values()) - wanted)
    return chosen


def _together(
    prospect: Prospect, units: Ints, used: Mask, preference: Preference, least: int, most: int, needed: Choice
) -> Choice | None:
    enough = max(least, 1)
    if len(needed) > 1 or not most:
        return None if needed or least else {}
    for place in needed or prospect.held:
        if units[place] >= enough:
            return {place: min(most, int(units[place]))}
    wanted = int(min(most, units.max(initial=0)))
    if needed or wanted < enough:
        return None if needed or least else {}
    places = np.flatnonzero(units >= wanted)
    place = int(places[np.argmin(preference.keys(places, units, used, prospect.is_whole))])
    return {place: wanted}
