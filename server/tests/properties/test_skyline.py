"""The capacity of a pool in each minute is what brute force finds, minute by minute and host by host."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property  # noqa: TID251 - of one thread only

import numpy as np
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.calendar.arrays import Ints, sorted_order
from blazar.domain.calendar.calendar import Calendar
from blazar.domain.planning.budget import Budget, of_array
from blazar.domain.planning.candidate import MANY_UNITS, candidate_for
from blazar.domain.planning.capacity import Capacity
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.skyline import Skyline, without_gaps
from blazar.domain.requirement.language import ANYTHING, Requirement, parse
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage
from blazar.domain.time import MINUTE, Interval

START = datetime(2031, 3, 1, 8, tzinfo=UTC)
LAST = 30
REQUIREMENTS = (ANYTHING, parse('[">=", "$rank", "2"]'), parse('["==", "$missing", "x"]'))


def span(start: int, end: int) -> Interval:
    return Interval(START + start * MINUTE, START + end * MINUTE)


@dataclass(frozen=True)
class Pictured:
    """A small pool with what occupies it, and a question. Time is counted in minutes from START."""

    resources: tuple[Resource, ...]
    allocations: tuple[Allocation, ...]
    start: int
    end: int
    margin: int
    requirement: Requirement
    usage: Usage
    now: int

    @cached_property
    def calendar(self) -> Calendar:
        calendar = Calendar()
        for resource in self.resources:
            calendar.put(resource, [a for a in self.allocations if a.resource_id == resource.id])
        return calendar

    @property
    def demand(self) -> Demand:
        return Demand("", 0, 1, self.usage, self.requirement)

    @cached_property
    def skyline(self) -> Skyline:
        snapshot = self.calendar.snapshot()
        matching = snapshot.columns.matching(self.requirement, frozenset(), frozenset(), WHOLE)
        now = START + self.now * MINUTE
        return Skyline(
            snapshot, span(self.start, self.end), self.margin * MINUTE, matching, now, Budget(10**9)
        )

    def matching(self) -> list[Resource]:
        return [each for each in self.resources if self.requirement.matches(each.properties)]

    def on(self, resource: Resource, first: int, last: int) -> list[Allocation]:
        """The allocations that touch any of the minutes from ``first`` to ``last``."""
        window = span(first, last + 1)
        return [a for a in self.allocations if a.resource_id == resource.id and a.interval.overlaps(window)]

    def units(self, resource: Resource, first: int, last: int) -> int:
        """How many units fit on the resource if they last from ``first`` to ``last``: looked up in each
        minute."""
        if not resource.reservable:
            return 0
        minutes = range(first - self.margin, last + self.margin + 1)
        around = [self.on(resource, minute, minute) for minute in minutes]
        if self.usage.amounts is None:
            return 0 if any(around) else 1
        if any(a.usage.whole for here in around for a in here):
            return 0
        found = []
        for name, n in self.usage.amounts.items():
            inventory = resource.inventory.get(name, Inventory(0, 0))
            if inventory.max_unit < n:
                return 0
            peak = max(sum((a.amounts or {}).get(name, 0) for a in here) for here in around)
            found.append(max(inventory.capacity - peak, 0) // n)
        return min(found)

    def reserved(self, name: str | None, minute: int, only_begun: bool) -> int:
        found = 0
        for resource in self.matching():
            here = self.on(resource, minute, minute)
            here = [a for a in here if not only_begun or a.interval.start <= START + self.now * MINUTE]
            if name is None:
                found += bool(here)
                continue
            capacity = resource.inventory.get(name, Inventory(0, 0)).capacity
            found += sum(capacity if a.amounts is None else a.amounts.get(name, 0) for a in here)
        return found


@st.composite
def pictures(draw: st.DrawFn) -> Pictured:
    number = draw(st.integers(0, 4))
    amounts = st.integers(1, 4)
    resources = tuple(
        Resource(
            str(each),
            Pool("host"),
            {"rank": draw(st.integers(1, 3))},
            inventory={
                name: Inventory(draw(st.integers(0, 8)), draw(st.integers(1, 8))) for name in ("A", "B")
            },
            reservable=draw(st.integers(0, 4)) > 0,
        )
        for each in range(number)
    )
    allocations = []
    for each in range(draw(st.integers(0, 9)) if number else 0):
        begin = draw(st.integers(-LAST, LAST))
        usage = draw(
            st.one_of(st.just(WHOLE), st.builds(lambda a, b: Usage({"A": a, "B": b}), amounts, amounts))
        )
        allocations.append(
            Allocation(
                f"a{each}",
                f"r{each}",
                f"l{each}",
                str(draw(st.integers(0, number - 1))),
                span(begin, begin + draw(st.integers(1, LAST))),
                usage,
                draw(st.integers(1, 2)),
            )
        )
    start = draw(st.integers(-5, 10))
    usage = draw(st.sampled_from((WHOLE, Usage({"A": 1}), Usage({"A": 2, "B": 3}), Usage({"C": 1}))))
    return Pictured(
        resources,
        tuple(allocations),
        start,
        start + draw(st.integers(1, LAST)),
        draw(st.sampled_from((0, 0, 1, 2, 7))),
        draw(st.sampled_from(REQUIREMENTS)),
        usage,
        draw(st.integers(-10, 10)),
    )


def by_minute(picture: Pictured, values: Ints) -> list[int]:
    """The values of each minute, from those at the moments of the axis."""
    axis = picture.skyline.axis
    assert (axis.minutes, len(axis.moments)) == (picture.end - picture.start, len(values))
    places = np.searchsorted(axis.moments, np.arange(axis.minutes), "right") - 1
    found: list[int] = values[places].tolist()
    return found


@given(pictures())
@settings(max_examples=examples(800), deadline=None)
def test_what_fits_is_what_fits_in_each_minute(picture: Pictured) -> None:
    candidate = candidate_for(picture.calendar.snapshot(), picture.demand, Budget())
    fit = picture.skyline.fit(candidate)
    expected = [
        sum(picture.units(each, minute, minute) for each in picture.matching())
        for minute in range(picture.start, picture.end)
    ]
    assert by_minute(picture, fit.values) == expected
    assert fit.throughout == sum(
        picture.units(each, picture.start, picture.end - 1) for each in picture.matching()
    )


@given(pictures())
@settings(max_examples=examples(800), deadline=None)
def test_what_fits_throughout_is_what_the_planner_would_give(picture: Pictured) -> None:
    snapshot = picture.calendar.snapshot()
    candidate = candidate_for(snapshot, picture.demand, Budget())
    window = snapshot.window(span(picture.start, picture.end), timedelta(minutes=picture.margin))
    planned = Capacity(snapshot.columns, window, [candidate]).alone(0)
    assert picture.skyline.fit(candidate).throughout == planned.sum()


@given(pictures(), st.sampled_from((None, "A", "C")), st.booleans())
@settings(max_examples=examples(800), deadline=None)
def test_what_is_reserved_is_what_is_allocated_in_each_minute(
    picture: Pictured, name: str | None, in_use: bool
) -> None:
    found = picture.skyline.reserved(name, in_use=in_use)
    expected = [picture.reserved(name, minute, in_use) for minute in range(picture.start, picture.end)]
    assert by_minute(picture, found) == expected


@given(pictures(), st.sampled_from((None, "A", "C")))
@settings(max_examples=examples(800), deadline=None)
def test_the_total_counts_what_matches_reservable_or_not(picture: Pictured, name: str | None) -> None:
    matching = picture.matching()
    expected = (
        len(matching)
        if name is None
        else sum(each.inventory[name].capacity for each in matching if name in each.inventory)
    )
    assert picture.skyline.total(name) == expected
    assert isinstance(picture.skyline.total(name), int)


def test_what_takes_nothing_fits_as_often_as_is_counted() -> None:
    host = Resource("1", Pool("host"))
    taken = Allocation("a", "r", "l", "1", span(0, 2), Usage({"A": 1}))
    picture = Pictured((host,), (taken,), -1, 3, 0, ANYTHING, Usage({}), 0)
    fit = picture.skyline.fit(candidate_for(picture.calendar.snapshot(), picture.demand, Budget()))
    assert by_minute(picture, fit.values) == [MANY_UNITS] * 4


def test_an_allocation_counts_in_every_minute_that_it_touches() -> None:
    host = Resource("1", Pool("host"))
    interval = Interval(START + timedelta(seconds=30), START + timedelta(seconds=90))
    picture = Pictured((host,), (Allocation("a", "r", "l", "1", interval),), -1, 3, 0, ANYTHING, WHOLE, 0)
    fit = picture.skyline.fit(candidate_for(picture.calendar.snapshot(), picture.demand, Budget()))
    assert by_minute(picture, fit.values) == [1, 0, 0, 1]
    assert by_minute(picture, picture.skyline.reserved(None)) == [0, 1, 1, 0]


CHANGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, LAST), st.integers(-3, 3)), max_size=25)
"""Changes of a number: on which resource, in which minute, and by how much."""


@given(CHANGES, st.integers(1, 8))
@settings(max_examples=examples(800), deadline=None)
def test_what_is_left_without_gaps_is_the_least_around_each_minute(
    changes: list[tuple[int, int, int]], margin: int
) -> None:
    changes.sort()
    apart = LAST + 2 * margin + 1
    times = np.array([resource * apart + minute for resource, minute, _ in changes], np.int64)
    differences = np.array([each for _, _, each in changes], np.int64)
    left, amounts = without_gaps(times, differences, 2 * margin, Budget())
    found = [
        (changes[at][0], changes[at][1] + (margin if amount > 0 else -margin), amount)
        for at, amount in zip(left.tolist(), amounts.tolist(), strict=True)
    ]

    def value(of: list[tuple[int, int, int]], resource: int, minute: int) -> int:
        return sum(amount for on, at, amount in of if on == resource and at <= minute)

    for resource in range(3):
        for minute in range(-margin, LAST + margin):
            around = range(minute - margin, minute + margin + 1)
            assert value(found, resource, minute) == min(value(changes, resource, each) for each in around)


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**63 - 1))))
@settings(max_examples=examples(300), deadline=None)
def test_equal_keys_stay_in_their_order(keys: list[int]) -> None:
    order = sorted_order(np.array(keys, np.int64))
    assert order.tolist() == sorted(range(len(keys)), key=lambda place: keys[place])


@given(st.integers(1, 8), st.integers(1, 20))
def test_gaps_are_closed_in_as_many_rounds_as_one_has_minutes(margin: int, resources: int) -> None:
    """The highest stairs that enclose a gap rise and fall by one each minute."""
    apart = LAST + 2 * margin + 1
    stairs = np.repeat((1, -1), margin)
    times = np.concatenate([each * apart + np.arange(2 * margin) for each in range(resources)])
    budget = Budget()
    left, _ = without_gaps(times, np.tile(stairs, resources), 2 * margin, budget)
    assert not len(left)
    assert budget.spent <= (2 * margin + 1) * of_array(len(times), 3)
