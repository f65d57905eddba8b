"""Numbers of resources of each class, against brute force: what is found is a way, what is called impossible
is, and of what is possible hardly anything is missed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from random import Random

import numpy as np
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.domain.calendar.arrays import Ints
from blazar.domain.planning.budget import Budget
from blazar.domain.planning.shares import Wanted, shares

CLASSES = 3
TIMES = 5


def drawn(random: Random) -> Wanted:
    """Pieces that have what they want, of some classes, and a new one that comes first."""
    kinds = [random.sample(range(CLASSES), random.randint(1, CLASSES)) for _ in range(3)]
    suits = np.array([[number in each for number in range(CLASSES)] for each in kinds])
    count = random.randint(2, 5)
    spans = [sorted(random.sample(range(TIMES + 1), 2)) for _ in range(count)]
    first, last = np.array(spans, np.int64).T
    units = np.array([random.randint(1, 3) for _ in range(count)], np.int64)
    kind = np.array([random.randrange(3) for _ in range(count)], np.int64)
    has = np.zeros((CLASSES, count), np.int64)
    for piece in range(1, count):
        for _ in range(units[piece]):
            has[random.choice(kinds[kind[piece]]), piece] += 1
    free = loads(first, last, has) + np.array(
        [[random.choice((0, 0, 1, 1, 2)) for _ in range(TIMES)] for _ in range(CLASSES)]
    )
    return Wanted(first, last, units, kind, suits, has, free)


def loads(first: Ints, last: Ints, share: Ints) -> Ints:
    times = np.arange(TIMES)
    is_there = (first[:, None] <= times) & (times < last[:, None])
    summed: Ints = share @ is_there
    return summed


@lru_cache
def splits(units: int) -> list[tuple[int, ...]]:
    return [each for each in product(range(units + 1), repeat=CLASSES) if sum(each) == units]


def ways(wanted: Wanted) -> Iterator[Ints]:
    """Yield each share of the pieces that fits."""

    def descend(piece: int, free: Ints, share: Ints) -> Iterator[Ints]:
        if piece == len(wanted.units):
            yield share
            return
        time = slice(wanted.first[piece], wanted.last[piece])
        for split in splits(int(wanted.units[piece])):
            taken = np.array(split)
            if (taken[~wanted.suits[wanted.kind[piece]]] > 0).any():
                continue
            left = free.copy()
            left[:, time] -= taken[:, None]
            if left.min() >= 0:
                share[:, piece] = taken
                yield from descend(piece + 1, left, share)

    yield from descend(0, wanted.free, wanted.has.copy())


def is_possible(wanted: Wanted) -> bool:
    return next(ways(wanted), None) is not None


def check(wanted: Wanted, share: Ints) -> None:
    assert share.min() >= 0
    assert (share.sum(axis=0) == wanted.units).all()
    assert not share[~wanted.suits[wanted.kind].T].any()
    assert (loads(wanted.first, wanted.last, share) <= wanted.free).all()


@settings(max_examples=examples(3000), deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_found_is_a_way_and_what_is_impossible_has_none(seed: int) -> None:
    wanted = drawn(Random(seed))
    found = shares(wanted, np.arange(CLASSES), Budget())
    if found is not None:
        check(wanted, found)
    if wanted.is_impossible():
        event("impossible")
        assert not is_possible(wanted)
    else:
        event("found" if found is not None else "not found")


@settings(max_examples=examples(1000), deadline=None)
@given(st.integers(0, 2**32))
def test_what_fits_as_it_is_planned_changes_nothing(seed: int) -> None:
    wanted = drawn(Random(seed))
    fits = is_possible_as_planned(wanted)
    found = shares(wanted, np.arange(CLASSES), Budget())
    if fits:
        assert found is not None
        assert (found[:, 1:] == wanted.has[:, 1:]).all()


def is_possible_as_planned(wanted: Wanted) -> bool:
    """Return whether the new piece fits beside the others as they are."""
    time = slice(wanted.first[0], wanted.last[0])
    least = wanted.slack[:, time].min(axis=1)
    return int(np.where(wanted.suits[wanted.kind[0]], least, 0).sum()) >= int(wanted.units[0])


def test_hardly_anything_that_needs_moves_is_missed() -> None:
    cases = [drawn(Random(seed)) for seed in range(2000)]
    moving = [each for each in cases if not is_possible_as_planned(each) and is_possible(each)]
    found = [each for each in moving if shares(each, np.arange(CLASSES), Budget()) is not None]
    assert len(found) >= 0.97 * len(moving) > 50
