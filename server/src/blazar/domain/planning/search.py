"""Find out whether demands of mixed kinds fit together at all: an exact search that ends after a fixed
effort.

The idea: resources are taken one after another. An outcome is a vector that says how many units each demand
has so far. For each resource, every mixture of units that it can hold is added to every outcome reached so
far, and equal outcomes are one. The goal is the vector of what all demands need. Of resources that are alike
(one host class) no more are looked at than there are units to place, so a large pool of few host classes is
searched as fast as a small one.

Example: 4 units of 2 VCPUs and 1 unit of 5, on two hosts of 8 and 5 VCPUs. The first host holds (4, 0), (1,
1) and less; the second (2, 0) and (0, 1). From (4, 0) and (0, 1) the goal (4, 1) is reached; from (1, 1) it
is not.

The cost is the number of outcomes times the number of mixtures of a resource, summed over the resources:
small for a few demands, and beyond all measure for many. So the search has an effort, and beyond it says
nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import Candidate, Choice
from blazar.domain.planning.capacity import Capacity
from blazar.domain.planning.demand import Grouping
from blazar.domain.requirement.language import Mask

EFFORT = 20_000
"""Steps of a search, of those that the whole decision has: about a tenth of a second."""

Vector = tuple[int, ...]
"""Units by number of the candidate."""


@dataclass(frozen=True, slots=True)
class _Host:
    """A resource: the units that it must hold (``base``), and the mixtures that it can hold beyond them."""

    index: int
    base: Vector
    options: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """The outcomes after a resource, each with the outcome before it."""

    host: _Host
    origin: dict[Vector, Vector]


def search(candidates: Sequence[Candidate], capacity: Capacity, budget: Budget) -> list[Choice] | None:
    """Return a choice that gives each candidate its least; None where there is none.

    Of outcomes that are equal otherwise, the one is taken that keeps more of what the candidates have. Raises
    CutShort where the budget is spent before all is tried."""
    return _Search(candidates, capacity, budget).run()


class _Search:
    def __init__(self, candidates: Sequence[Candidate], capacity: Capacity, budget: Budget) -> None:
        self._candidates = candidates
        self._capacity = capacity
        self._budget = budget
        self._width = 1 + len(candidates) // 8
        """Steps of working on one vector."""
        self._goal = tuple(p.least - sum(p.needed.values()) for p in candidates)

    def run(self) -> list[Choice] | None:
        if any(p.demand.grouping is Grouping.TOGETHER and len(p.needed) > 1 for p in self._candidates):
            return None
        special = [self._host(index) for index in self._special_indexes()]
        if not all(self._holds_base(host) for host in special):
            return None
        reached: dict[Vector, int] = {(0,) * len(self._goal): 0}
        steps: list[_Step] = []
        for host in special:
            reached = self._step(host, reached, steps)
        for host in self._ordinary():
            if self._goal in reached:
                break
            reached = self._step(host, reached, steps)
        return self._traced(steps) if self._goal in reached else None

    def _step(self, host: _Host, reached: dict[Vector, int], steps: list[_Step]) -> dict[Vector, int]:
        """Return the outcomes after this resource, each with the number of units that stay where they are."""
        following: dict[Vector, int] = {}
        origin: dict[Vector, Vector] = {}
        held = [candidate.held.get(host.index, 0) for candidate in self._candidates]
        for outcome, kept in reached.items():
            for option in host.options:
                self._budget.spend(self._width)
                sums = tuple(map(min, map(int.__add__, outcome, option), self._goal))
                given = map(int.__sub__, sums, outcome)
                score = kept + sum(map(min, map(int.__add__, given, host.base), held))
                if score > following.get(sums, -1):
                    following[sums] = score
                    origin[sums] = outcome
        steps.append(_Step(host, origin))
        return following

    def _traced(self, steps: list[_Step]) -> list[Choice]:
        choices: list[Choice] = [{} for _ in self._candidates]
        outcome = self._goal
        for step in reversed(steps):
            before = step.origin[outcome]
            for number, choice in enumerate(choices):
                given = step.host.base[number] + outcome[number] - before[number]
                if given:
                    choice[step.host.index] = given
            outcome = before
        return choices

    def _special_indexes(self) -> list[int]:
        return list(dict.fromkeys(p for q in self._candidates for p in (*q.needed, *q.held)))

    def _ordinary(self) -> Iterator[_Host]:
        """Yield the other resources, of each host class no more than there are units to place."""
        columns = [np.minimum(self._capacity.alone(n), goal) for n, goal in enumerate(self._goal)]
        shared = [p for p in self._candidates if not p.is_whole]
        if len(shared) > 1:
            for name in {name for p in shared for name, _ in p.amounts}:
                goals = zip(self._candidates, self._goal, strict=True)
                most = sum(dict(p.amounts).get(name, 0) * goal for p, goal in goals)
                columns.append(np.clip(self._capacity.left(name), 0, most))
        self._budget.spend(of_array(self._capacity.size, 2 * len(columns)))
        eligible: Mask = np.logical_or.reduce(columns[: len(self._goal)])
        eligible[self._special_indexes()] = False
        indexes = np.flatnonzero(eligible)
        if not len(indexes):
            return
        # Big-endian numbers: rows that sort as bytes in the order of their numbers.
        table = np.stack(columns, axis=1)[indexes].astype(">i8")
        rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
        class_of, counts = np.unique(rows, return_inverse=True, return_counts=True)[1:]
        by_class = indexes[np.argsort(class_of.ravel(), kind="stable")]
        for host_class in np.split(by_class, np.cumsum(counts)[:-1]):
            for index in host_class[: sum(self._goal)].tolist():
                yield self._host(index)

    def _host(self, index: int) -> _Host:
        self._budget.spend(len(self._candidates))
        base = tuple(candidate.needed.get(index, 0) for candidate in self._candidates)
        nothing = (0,) * len(base)
        options = []
        if not any(base):
            options += [
                self._one(n)
                for n, p in enumerate(self._candidates)
                if p.is_whole and self._cap(n, index, base)
            ]
        if not any(p.is_whole and p.needed.get(index) for p in self._candidates):
            options += self._mixtures(index, base)
        return _Host(index, base, tuple(options) or (nothing,))

    def _one(self, number: int) -> Vector:
        return tuple(int(n == number) for n in range(len(self._candidates)))

    def _cap(self, number: int, index: int, base: Vector) -> int:
        """Return how many units beyond the base the resource could hold of one candidate, if of no other."""
        candidate = self._candidates[number]
        cap = min(int(self._capacity.alone(number)[index]) - base[number], self._goal[number])
        if candidate.demand.grouping is Grouping.TOGETHER:
            elsewhere = candidate.needed and index not in candidate.needed
            return 0 if elsewhere or cap < self._goal[number] else cap
        return cap

    def _mixtures(self, index: int, base: Vector) -> Iterator[Vector]:
        """Yield the units that the resource can hold of the candidates that share it; of the last one always
        the most."""
        numbers = [
            n for n, p in enumerate(self._candidates) if not p.is_whole and self._cap(n, index, base) > 0
        ]
        left = self._left(index, base)

        def descend(at: int, left: dict[str, int], given: Vector) -> Iterator[Vector]:
            self._budget.spend(self._width)
            if at == len(numbers):
                yield given
                return
            number = numbers[at]
            amounts = self._candidates[number].amounts
            most = min([self._cap(number, index, base), *(left[name] // n for name, n in amounts)])
            together = self._candidates[number].demand.grouping is Grouping.TOGETHER
            if together:
                counts = [self._goal[number], 0] if most >= self._goal[number] else [0]
            elif at == len(numbers) - 1:
                counts = [most]
            else:
                counts = list(range(most, -1, -1))
            for count in counts:
                rest = left | {name: left[name] - n * count for name, n in amounts}
                yield from descend(at + 1, rest, (*given[:number], count, *given[number + 1 :]))

        return descend(0, left, (0,) * len(base))

    def _left(self, index: int, base: Vector) -> dict[str, int]:
        names = {name for candidate in self._candidates for name, _ in candidate.amounts}
        left = {name: int(self._capacity.left(name)[index]) for name in names}
        for number, candidate in enumerate(self._candidates):
            for name, n in candidate.amounts:
                left[name] -= n * base[number]
        return left

    def _holds_base(self, host: _Host) -> bool:
        """Return whether the resource has capacity for all that it must hold."""
        wanting = [n for n, slots in enumerate(host.base) if slots]
        if any(self._capacity.alone(n)[host.index] < host.base[n] for n in wanting):
            return False
        if any(self._candidates[n].is_whole for n in wanting):
            return len(wanting) == 1
        left = self._left(host.index, host.base)
        return all(left[name] >= 0 for n in wanting for name, _ in self._candidates[n].amounts)
