"""Whether demands of mixed kinds fit together at all: an exact search that gives up beyond a fixed effort.

Resources are taken one after another. For each, all mixtures of units that it can hold are added to every outcome
reached so far; equal outcomes are one. Of resources that are alike no more are looked at than there are units to
place, so a large pool of few sorts of resources is searched as fast as a small one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from blazar.domain.demand import Grouping
from blazar.domain.requirement import Mask
from blazar.domain.room import Choice, Prospect, Room

EFFORT = 20_000
"""Steps of a search: less than a tenth of a second."""

Vector = tuple[int, ...]
"""Units by number of the prospect."""


class _GaveUp(Exception):
    """The effort is spent."""


@dataclass(frozen=True, slots=True)
class _Host:
    """A resource: what it has to give, and the mixtures that it can give beyond that."""

    place: int
    base: Vector
    options: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """What taking a resource led to: each outcome with the one that it came from."""

    host: _Host
    origin: dict[Vector, Vector]


def search(prospects: Sequence[Prospect], room: Room, effort: int = EFFORT) -> list[Choice] | None:
    """A choice that gives each prospect its least; None where there is none, or none was found with this effort.

    Of the outcomes that are equal otherwise, the one that leaves more of what the prospects have in place is taken.
    """
    try:
        return _Search(prospects, room, effort).run()
    except _GaveUp:
        return None


class _Search:
    def __init__(self, prospects: Sequence[Prospect], room: Room, effort: int) -> None:
        self._prospects = prospects
        self._room = room
        self._effort = effort
        self._goal = tuple(p.least - sum(p.needed.values()) for p in prospects)

    def run(self) -> list[Choice] | None:
        special = [self._host(place) for place in self._special_places()]
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
        """The outcomes after this resource, each with the number of units that stay where they are."""
        following: dict[Vector, int] = {}
        origin: dict[Vector, Vector] = {}
        held = [prospect.held.get(host.place, 0) for prospect in self._prospects]
        for outcome, kept in reached.items():
            for option in host.options:
                self._spend()
                sums = tuple(map(min, map(int.__add__, outcome, option), self._goal))
                given = map(int.__sub__, sums, outcome)
                score = kept + sum(map(min, map(int.__add__, given, host.base), held))
                if score > following.get(sums, -1):
                    following[sums] = score
                    origin[sums] = outcome
        steps.append(_Step(host, origin))
        return following

    def _traced(self, steps: list[_Step]) -> list[Choice]:
        choices: list[Choice] = [{} for _ in self._prospects]
        outcome = self._goal
        for step in reversed(steps):
            before = step.origin[outcome]
            for number, choice in enumerate(choices):
                given = step.host.base[number] + outcome[number] - before[number]
                if given:
                    choice[step.host.place] = given
            outcome = before
        return choices

    def _special_places(self) -> list[int]:
        return list(dict.fromkeys(p for q in self._prospects for p in (*q.needed, *q.held)))

    def _ordinary(self) -> Iterator[_Host]:
        """The other resources, of each sort no more than there are units to place."""
        columns = [np.minimum(self._room.alone(n), goal) for n, goal in enumerate(self._goal)]
        shared = [p for p in self._prospects if not p.is_whole]
        if len(shared) > 1:
            for name in {name for p in shared for name, _ in p.amounts}:
                goals = zip(self._prospects, self._goal, strict=True)
                most = sum(dict(p.amounts).get(name, 0) * goal for p, goal in goals)
                columns.append(np.clip(self._room.left(name), 0, most))
        table = np.stack(columns, axis=1)
        candidates: Mask = np.logical_or.reduce(columns[: len(self._goal)])
        candidates[self._special_places()] = False
        places = np.flatnonzero(candidates)
        sorts, sort_of = np.unique(table[places], axis=0, return_inverse=True)
        for sort in range(len(sorts)):
            for place in places[sort_of.reshape(-1) == sort][: sum(self._goal)].tolist():
                yield self._host(place)

    def _host(self, place: int) -> _Host:
        base = tuple(prospect.needed.get(place, 0) for prospect in self._prospects)
        nothing = (0,) * len(base)
        options = []
        if not any(base):
            options += [self._one(n) for n, p in enumerate(self._prospects) if p.is_whole and self._cap(n, place, base)]
        if not any(p.is_whole and p.needed.get(place) for p in self._prospects):
            options += self._mixtures(place, base)
        return _Host(place, base, tuple(options) or (nothing,))

    def _one(self, number: int) -> Vector:
        return tuple(int(n == number) for n in range(len(self._prospects)))

    def _cap(self, number: int, place: int, base: Vector) -> int:
        """How many units beyond the base the resource could give to one prospect, if to no other."""
        prospect = self._prospects[number]
        cap = min(int(self._room.alone(number)[place]) - base[number], self._goal[number])
        if prospect.demand.grouping is Grouping.TOGETHER:
            elsewhere = prospect.needed and place not in prospect.needed
            return 0 if elsewhere or cap < self._goal[number] else cap
        return cap

    def _mixtures(self, place: int, base: Vector) -> Iterator[Vector]:
        """What the resource can give to the prospects that share it; of the last of them always the most."""
        numbers = [n for n, p in enumerate(self._prospects) if not p.is_whole and self._cap(n, place, base) > 0]
        left = self._left(place, base)

        def descend(at: int, left: dict[str, int], given: Vector) -> Iterator[Vector]:
            self._spend()
            if at == len(numbers):
                yield given
                return
            number = numbers[at]
            amounts = self._prospects[number].amounts
            most = min([self._cap(number, place, base), *(left[name] // n for name, n in amounts)])
            together = self._prospects[number].demand.grouping is Grouping.TOGETHER
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

    def _left(self, place: int, base: Vector) -> dict[str, int]:
        names = {name for prospect in self._prospects for name, _ in prospect.amounts}
        left = {name: int(self._room.left(name)[place]) for name in names}
        for number, prospect in enumerate(self._prospects):
            for name, n in prospect.amounts:
                left[name] -= n * base[number]
        return left

    def _holds_base(self, host: _Host) -> bool:
        """Whether all that the resource has to give is there at once."""
        wanting = [n for n, slots in enumerate(host.base) if slots]
        if any(self._room.alone(n)[host.place] < host.base[n] for n in wanting):
            return False
        if any(self._prospects[n].is_whole for n in wanting):
            return len(wanting) == 1
        left = self._left(host.place, host.base)
        return all(left[name] >= 0 for n in wanting for name, _ in self._prospects[n].amounts)

    def _spend(self) -> None:
        self._effort -= 1
        if self._effort < 0:
            raise _GaveUp
