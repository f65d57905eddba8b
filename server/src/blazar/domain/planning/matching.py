"""Decide which host goes to which demand, where each demand takes hosts as a whole.

This is the matching of demands with hosts, solved as a maximum flow. The idea: hosts that suit the same
demands are alike, so only their number counts. All hosts that suit the same set of demands are a host class.
From every demand an edge leads to each class that suits it, and a class lets through as many hosts as it has.

Demands are served one after another. Where a demand finds no free host in its classes, it looks for an
augmenting path (Ford and Fulkerson; the shortest path, as Edmonds and Karp take it): it takes a host from
another demand, which takes one from a third, until one of them finds a free host. A path moves as many hosts
as it can at once, and takes nothing away from any demand.

Example: hosts 1 (suits a and b), 2 (suits a and c) and 3 (suits c). Demand a takes host 1. Demand b can use
host 1 only: it takes it, and a moves to host 2. Demand c takes host 3.

The result is exact. The cost: one sort of the pool for the classes; then for each path at most one turn for
each pair of demands, and there are seldom more paths than demands times classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import Candidate, Choice
from blazar.domain.planning.capacity import Capacity
from blazar.domain.planning.choice import Preference
from blazar.domain.requirement.language import Mask


def match_whole_resources(
    candidates: Sequence[Candidate],
    capacity: Capacity,
    preference: Preference,
    floors: Sequence[Choice],
    budget: Budget,
) -> list[Choice] | None:
    """Return a choice for each candidate, all of whole usages; None where not all can have their least.

    ``floors`` are the indexes that each one has to get. What is above the least goes to the first candidate
    as far as possible, then to the second, and so on. Raises CutShort."""
    taken = [index for floor in floors for index in floor]
    if len(taken) != len(set(taken)) or any(
        not capacity.alone(number)[index] for number, floor in enumerate(floors) for index in floor
    ):
        return None
    budget.spend(of_array(capacity.size, 2 * len(candidates)))
    suits = np.stack([capacity.alone(number) > 0 for number in range(len(candidates))], axis=1)
    suits[taken] = False
    classes = _HostClasses(suits)
    flow = _Flow(classes, budget)
    for number, candidate in enumerate(candidates):
        missing = candidate.least - len(floors[number])
        if flow.give(number, missing) < missing:
            return None
    for number, candidate in enumerate(candidates):
        flow.give(number, candidate.most - max(candidate.least, len(floors[number])))
    return _choices(candidates, flow, classes, preference, floors)


class _HostClasses:
    """The host classes of a table of hosts and the demands that each suits. A class has a number from 0
    on."""

    def __init__(self, suits: Mask) -> None:
        self._indexes = np.flatnonzero(suits.any(axis=1))
        # The demands of each host as bits, the last demand first: bytes that sort as the numbers they make.
        bits = np.packbits(suits[self._indexes, ::-1], axis=1)
        names, class_of, counts = np.unique(
            bits.view(np.dtype((np.void, bits.shape[1]))).ravel(), return_inverse=True, return_counts=True
        )
        self._class_of: Ints = class_of.ravel()
        self.counts: list[int] = counts.tolist()
        """How many hosts each class has."""
        one_of_each = np.zeros(len(names), np.int64)
        one_of_each[self._class_of] = self._indexes
        self.of_demand = [_as_bits(column) for column in suits[one_of_each].T]
        """The classes that suit each demand, as the bits of an integer."""

    def __iter__(self) -> Iterator[Ints]:
        """Return the indexes of the hosts of each class."""
        order = np.argsort(self._class_of, kind="stable")
        return iter(np.split(self._indexes[order], np.cumsum(self.counts)[:-1]))


def _as_bits(mask: Mask) -> int:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


class _Flow:
    """The number of hosts of each class that every demand gets. Sets of classes are the bits of integers."""

    def __init__(self, classes: _HostClasses, budget: Budget) -> None:
        self._budget = budget
        self._suits = classes.of_demand
        self._left = list(classes.counts)
        self._free = (1 << len(self._left)) - 1
        """The classes with free hosts."""
        self.given: list[dict[int, int]] = [{} for _ in self._suits]
        """By demand: how many hosts of which class it has."""
        self._has = [0] * len(self._suits)
        """By demand: the classes of which it has hosts."""

    def give(self, demand: int, wanted: int) -> int:
        """Let the demand have up to ``wanted`` more, and return how many it got. No other demand loses in
        number."""
        got = 0
        while got < wanted:
            path = self._path(demand)
            if path is None:
                break
            got += self._shift(path, wanted - got)
        return got

    def _path(self, demand: int) -> list[tuple[int, int]] | None:
        """Return the demands and the classes they would take from: each from the next demand, the last from
        what is free."""
        came: dict[int, list[tuple[int, int]]] = {demand: []}
        queue = [demand]
        unseen = -1
        for at in queue:
            self._budget.spend(1 + len(self._suits) // 8)
            found = self._suits[at] & unseen
            if found & self._free:
                return [*came[at], (at, _lowest(found & self._free))]
            unseen &= ~found
            owners = (other for other, has in enumerate(self._has) if has & found and other not in came)
            for host_class, other in sorted((_lowest(self._has[other] & found), other) for other in owners):
                came[other] = [*came[at], (at, host_class)]
                queue.append(other)
        return None

    def _shift(self, path: list[tuple[int, int]], wanted: int) -> int:
        losers = [(loser, host_class) for (_, host_class), (loser, _) in pairwise(path)]
        last = path[-1][1]
        amount = min(wanted, self._left[last], *(self.given[loser][lost] for loser, lost in losers))
        self._left[last] -= amount
        if not self._left[last]:
            self._free &= ~(1 << last)
        for loser, host_class in losers:
            self._add(loser, host_class, -amount)
        for demand, host_class in path:
            self._add(demand, host_class, amount)
        return amount

    def _add(self, demand: int, host_class: int, amount: int) -> None:
        number = self.given[demand].get(host_class, 0) + amount
        self.given[demand][host_class] = number
        if number:
            self._has[demand] |= 1 << host_class
        else:
            self._has[demand] &= ~(1 << host_class)


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _choices(
    candidates: Sequence[Candidate],
    flow: _Flow,
    classes: _HostClasses,
    preference: Preference,
    floors: Sequence[Choice],
) -> list[Choice]:
    """Name the hosts: of each class, first those that a demand has already, then the others in order."""
    choices = [dict(floor) for floor in floors]
    unused: Mask = np.zeros(0, bool)
    for host_class, indexes in enumerate(classes):
        quota = {number: n for number, given in enumerate(flow.given) if (n := given.get(host_class))}
        in_order = indexes[np.argsort(preference.keys(indexes, indexes, unused, True))].tolist()
        pool = dict.fromkeys(in_order)
        for number in quota:
            for index in candidates[number].held:
                if quota[number] and index in pool:
                    del pool[index]
                    quota[number] -= 1
                    choices[number][index] = 1
        rest = iter(pool)
        for number, missing in quota.items():
            choices[number].update((next(rest), 1) for _ in range(missing))
    return choices
