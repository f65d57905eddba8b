"""Whole hosts of classes that hold each other, against brute force: where what stays has begun, hosts are
given out for all numbers that fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from random import Random

from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.demand import Demand, Order, PlanRequest
from blazar.domain.planning.movable import Rearrangement
from blazar.domain.planning.planner import plan_if_it_fits
from blazar.domain.planning.repacking import repacked
from blazar.domain.resource import Allocation, Pool, Resource

from .test_rearrangement import Puzzle, allocated, check
from .worlds import World, span

NOW = 3
"""The hour before which all that stays begins."""
LEVELS = 3


def drawn(random: Random) -> Puzzle:
    """Hosts of three classes, each of which can do what the ones before it can; leases that have begun, and
    others that may move."""
    levels = [random.randrange(LEVELS) for _ in range(random.randint(3, 7))]
    pool = tuple(
        Resource(
            str(n), Pool("host"), traits=frozenset(f"CUSTOM_{each}" for each in range(level)), generation=n
        )
        for n, level in enumerate(levels)
    )
    taken: list[Allocation] = []
    fixed: list[Allocation] = []
    movable: list[Demand] = []
    for number in range(random.randint(3, 9)):
        asked = demand(random, f"movable-{number}")
        has_begun = random.random() < 0.3
        start = random.randint(0, NOW - 1) if has_begun else random.randint(NOW, 7)
        request = PlanRequest(
            span(start, random.randint(max(start, NOW) + 1, 12)),
            (asked,),
            order=Order.RANDOM,
            seed=random.getrandbits(16),
        )
        found = plan_if_it_fits(World(pool, tuple(taken), request).calendar.snapshot(), request, Budget())
        if found is None:
            continue
        has = allocated(asked, {a.resource_id: a.slots for a in found.assignments}, request)
        taken += has
        if has_begun:
            fixed += has
        else:
            movable.append(replace(asked, current=has))
    start = random.randint(NOW, 8)
    new = PlanRequest(span(start, start + random.randint(1, 5)), (demand(random, "own"),))
    return Puzzle(pool, tuple(fixed), tuple(movable), new)


def in_the_way(seed: int) -> Puzzle:
    """Draw until the request does not fit as things are planned, but does in sum."""
    random = Random(seed)
    while True:
        puzzle = drawn(random)
        request, snapshot = puzzle.request, puzzle.world.calendar.snapshot()
        if plan_if_it_fits(snapshot, request, Budget()) is None and fits_in_sum(puzzle):
            return puzzle


def fits_in_sum(puzzle: Puzzle) -> bool:
    asked = puzzle.request.interval
    hours = {asked.start, *(row.interval.start for row in puzzle.allocations)}
    in_use = [
        sum(1 for row in puzzle.allocations if row.interval.start <= hour < row.interval.end)
        for hour in hours
        if asked.start <= hour < asked.end
    ]
    return puzzle.request.demands[0].minimum + max(in_use) <= len(puzzle.resources)


def demand(random: Random, name: str) -> Demand:
    units = random.choice((1, 1, 2, 3))
    traits = frozenset(f"CUSTOM_{each}" for each in range(random.randrange(LEVELS)))
    return Demand(name, units, units, required_traits=traits)


def is_possible_by_numbers(puzzle: Puzzle) -> bool:
    """Return whether the request and all that may move fit, as far as numbers of each class tell."""
    asked = puzzle.request
    pieces = [
        (each, each.current[0].interval, sum(row.slots for row in each.current)) for each in puzzle.movable
    ]
    pieces.append((asked.demands[0], asked.interval, asked.demands[0].minimum))
    level_of = {each.id: len(each.traits) for each in puzzle.resources}
    moments = {interval.start for _, interval, _ in pieces}
    free = {
        (moment, level): sum(1 for each in level_of.values() if each == level)
        - sum(1 for row in puzzle.fixed if level_of[row.resource_id] == level and row.interval.end > moment)
        for moment in moments
        for level in range(LEVELS)
    }

    def descend(number: int) -> bool:
        if number == len(pieces):
            return True
        each, interval, units = pieces[number]
        during = [moment for moment in moments if interval.start <= moment < interval.end]
        for split in splits(units, len(each.required_traits)):
            take(during, split, 1)
            if all(free[moment, level] >= 0 for moment in during for level in range(LEVELS)) and descend(
                number + 1
            ):
                return True
            take(during, split, -1)
        return False

    def take(during: list[datetime], split: tuple[int, ...], sign: int) -> None:
        for moment in during:
            for level, count in enumerate(split):
                free[moment, level] -= sign * count

    return descend(0)


def splits(units: int, least: int) -> Iterator[tuple[int, ...]]:
    """Yield how many units of each class there may be, from a class on."""
    for first in range(units + 1 if least < 1 else 1):
        for second in range(units - first + 1 if least < 2 else 1):
            yield first, second, units - first - second


def outcome(puzzle: Puzzle) -> Rearrangement | None:
    return repacked(puzzle.world.calendar.snapshot(), puzzle.request, puzzle.movable, Budget())


@settings(max_examples=examples(1500), deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_found_is_valid_and_what_is_refused_is_impossible(seed: int) -> None:
    puzzle = in_the_way(seed)
    try:
        found = outcome(puzzle)
    except CutShort:
        event("not known")
        return
    event("refused" if found is None else f"{len(found.moves)} moves")
    assert (found is not None) == is_possible_by_numbers(puzzle)
    if found is not None:
        check(puzzle, found)


def test_hardly_anything_is_not_known() -> None:
    unknown = []
    for seed in range(200):
        puzzle = in_the_way(seed)
        try:
            outcome(puzzle)
        except CutShort:
            unknown.append(is_possible_by_numbers(puzzle))
    assert sum(unknown) <= 2
    assert len(unknown) <= 10


def test_for_what_fits_nothing_moves() -> None:
    pool = tuple(Resource(str(n), Pool("host"), generation=n) for n in range(2))
    one = Demand("one", 1, 1)
    asked = span(1, 3)
    has = allocated(one, {"0": 1}, PlanRequest(asked, (one,)))
    found = outcome(
        Puzzle(pool, (), (replace(one, current=has),), PlanRequest(asked, (Demand("own", 1, 1),)))
    )
    assert found is not None
    assert found.moves == ()
    assert found.plan.resources("own") == ("1",)
