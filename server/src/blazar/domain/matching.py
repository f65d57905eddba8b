"""Which host goes to which demand, where each demand takes hosts as a whole: exact, for any size.

Hosts that suit the same demands are alike, so a maximum flow over a handful of sorts of hosts decides; augmenting paths
as Ford and Fulkerson have them, each moving as many hosts as it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from blazar.domain.choice import Preference
from blazar.domain.room import Choice, Prospect, Room


def match_wholes(
    prospects: Sequence[Prospect], room: Room, preference: Preference, floors: Sequence[Choice]
) -> list[Choice] | None:
    """A choice for each prospect, all of whole claims; None where not all can have their least.

    ``floors`` are the places that each one has to get. Then as many as can be had up to the maximum, first of the first.
    """
    taken = [place for floor in floors for place in floor]
    if len(taken) != len(set(taken)) or any(
        not room.alone(number)[place] for number, floor in enumerate(floors) for place in floor
    ):
        return None
    sorts = np.zeros(len(room.used()), np.int64)
    for number in range(len(prospects)):
        sorts |= (room.alone(number) > 0).astype(np.int64) << number
    sorts[taken] = 0
    flow = _Flow(sorts, len(prospects))
    for number, prospect in enumerate(prospects):
        missing = prospect.least - len(floors[number])
        if flow.give(number, missing) < missing:
            return None
    for number, prospect in enumerate(prospects):
        flow.give(number, prospect.most - max(prospect.least, len(floors[number])))
    return _places(prospects, flow, sorts, preference, floors)


class _Flow:
    """How many hosts of each sort each demand gets. A sort is the set of demands that the host suits, as bits."""

    def __init__(self, sorts: np.typing.NDArray[np.int64], demands: int) -> None:
        names, counts = np.unique(sorts[sorts > 0], return_counts=True)
        self.free: dict[int, int] = dict(zip(names.tolist(), counts.tolist(), strict=True))
        self.given: dict[tuple[int, int], int] = {}
        self._demands = demands

    def give(self, demand: int, wanted: int) -> int:
        """Let the demand have up to ``wanted`` more, moving others but taking nothing away from them; how many it got."""
        got = 0
        while got < wanted:
            path = self._path(demand)
            if path is None:
                break
            got += self._shift(path, wanted - got)
        return got

    def _path(self, demand: int) -> list[tuple[int, int]] | None:
        """Demands and the sorts they would take from: each from the next one, the last from what is free."""
        came: dict[int, list[tuple[int, int]]] = {demand: []}
        queue = [demand]
        for at in queue:
            for sort, free in self.free.items():
                if not sort >> at & 1:
                    continue
                path = [*came[at], (at, sort)]
                if free:
                    return path
                for other in range(self._demands):
                    if other not in came and self.given.get((sort, other)):
                        came[other] = path
                        queue.append(other)
        return None

    def _shift(self, path: list[tuple[int, int]], wanted: int) -> int:
        losers = [(sort, loser) for (_, sort), (loser, _) in pairwise(path)]
        last = path[-1][1]
        amount = min(wanted, self.free[last], *(self.given[key] for key in losers))
        self.free[last] -= amount
        for key in losers:
            self.given[key] -= amount
        for demand, sort in path:
            self.given[sort, demand] = self.given.get((sort, demand), 0) + amount
        return amount


def _places(
    prospects: Sequence[Prospect],
    flow: _Flow,
    sorts: np.typing.NDArray[np.int64],
    preference: Preference,
    floors: Sequence[Choice],
) -> list[Choice]:
    choices = [dict(floor) for floor in floors]
    used = np.zeros(0, bool)
    for sort in flow.free:
        places = np.flatnonzero(sorts == sort)
        in_order = places[np.argsort(preference.keys(places, places, used, True))].tolist()
        pool = dict.fromkeys(in_order)
        quota = {number: flow.given.get((sort, number), 0) for number in range(len(prospects))}
        wishes = [[place for place in prospect.held if place in pool] for prospect in prospects]
        # First what somebody has already, then what is left over.
        for number, wish in [*enumerate(wishes), *((number, in_order) for number in quota)]:
            for place in wish:
                if quota[number] and place in pool:
                    del pool[place]
                    quota[number] -= 1
                    choices[number][place] = 1
    return choices
