"""The waitlist: nothing is promoted that does not fit, and nothing taken from what those ahead wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.lease.waiting import PENALTY, Starts, Waiting, gives_up, in_line, starts, turn_of
from blazar.domain.planning.availability import AvailabilitySearch, Objection
from blazar.domain.planning.budget import DECISION, Budget
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.line import Wish, could_fit, promotion
from blazar.domain.planning.plan import Plan
from blazar.domain.resource import Allocation, Pool, Resource
from blazar.domain.time import MINUTE, Interval

from .worlds import (
    HOUR,
    START,
    BruteForce,
    World,
    demands,
    is_within_capacity,
    occupancy,
    resources,
    span,
    usages,
)

HOSTS = Pool("host")


@dataclass(frozen=True)
class Line:
    """A pool with what occupies it, and the leases that wait, the first one first."""

    resources: tuple[Resource, ...]
    allocations: tuple[Allocation, ...]
    wishes: tuple[Wish, ...]

    def calendar(self) -> Calendar:
        calendar = Calendar()
        for resource in self.resources:
            calendar.put(resource, [a for a in self.allocations if a.resource_id == resource.id])
        return calendar


@st.composite
def lines(draw: st.DrawFn) -> Line:
    pool = draw(resources())
    wishes = []
    for number in range(draw(st.integers(1, 4))):
        demand = replace(
            draw(demands(number, draw(usages()), pool)), reservation_id=f"waiting-{number}", must_include=()
        )
        begin = draw(st.integers(0, 10))
        interval = span(begin, begin + draw(st.integers(1, 4)))
        request = PlanRequest(interval, (demand,), draw(st.sampled_from((0, 0, 1))) * HOUR)
        later = draw(st.sampled_from((0, 0, 2, 6)))
        wishes.append(Wish({HOSTS: request}, interval.start + later * HOUR))
    return Line(pool, tuple(draw(occupancy(pool))), tuple(wishes))


@dataclass(frozen=True)
class Outcome:
    promoted: Sequence[tuple[int, Plan]]
    left: Sequence[int]


def search_in(calendar: Calendar) -> AvailabilitySearch:
    return AvailabilitySearch(lambda _: calendar.snapshot(), Budget(DECISION, lambda: None))


def walk(line: Line, calendar: Calendar) -> Outcome:
    """Go through the line once, as a manager does, and commit what is planned."""
    promoted, left, ahead = [], [], []
    for number, wish in enumerate(line.wishes):
        found, waits = promotion(search_in(calendar), wish, ahead)
        if found is None:
            assert waits == could_fit(search_in(calendar), wish)
            left.append(number)
            ahead += [wish] if waits else []
        else:
            plan = found.plan
            promoted.append((number, plan))
            for at, each in enumerate(plan.added):
                calendar.add(
                    Allocation(
                        f"{number}-{at}",
                        each.reservation_id,
                        f"lease-{number}",
                        each.resource_id,
                        plan.interval,
                        each.usage,
                        each.slots,
                    )
                )
    return Outcome(promoted, left)


def suits(line: Line, resource_id: str, demand: Demand) -> bool:
    """Whether the resource suits the demand, whatever occupies it, by brute force."""
    resource = next(each for each in line.resources if each.id == resource_id)
    world = World(line.resources, (), PlanRequest(span(0, 1), (demand,)))
    holds = all(
        resource.inventory[name].capacity >= n
        for name, n in (demand.usage.amounts or {}).items()
        if name in resource.inventory
    )
    return holds and BruteForce(world).suits(resource, demand, 1)


@given(lines())
@settings(max_examples=examples(500), deadline=None)
def test_what_is_promoted_fits_and_leaves_alone_what_those_ahead_wait_for(line: Line) -> None:
    calendar = line.calendar()
    outcome = walk(line, calendar)
    event(f"{len(outcome.promoted)} promoted, {len(outcome.left)} left")
    for resource in line.resources:
        before = [a for a in line.allocations if a.resource_id == resource.id]
        after = list(calendar.allocations_of(resource.id))
        assert is_within_capacity(resource, after)
        assert before == after[: len(before)]
    for number, plan in outcome.promoted:
        wish = line.wishes[number]
        (demand,) = wish.requests[HOSTS].demands
        assert demand.minimum <= plan.units(demand.reservation_id) <= demand.maximum
        assert wish.interval.start <= plan.interval.start <= wish.latest
        assert plan.interval.duration == wish.interval.duration
        for other in (each for each in outcome.left if each < number):
            unserved = line.wishes[other]
            (wanted,) = unserved.requests[HOSTS].demands
            if unserved.window.overlaps(plan.interval) and could_fit(search_in(calendar), unserved):
                assert not [a for a in plan.added if suits(line, a.resource_id, wanted)]


@given(lines())
@settings(max_examples=examples(500), deadline=None)
def test_the_first_one_waits_only_for_what_is_not_there(line: Line) -> None:
    """As soon as it fits, by brute force, the first in line is promoted, whatever waits behind it."""
    outcome = walk(line, line.calendar())
    first = line.wishes[0]
    if 0 in outcome.left:
        moment = first.interval.start
        while moment <= first.latest:
            begin = (moment - START) // HOUR
            length = first.interval.duration // HOUR
            request = replace(first.requests[HOSTS], interval=span(begin, begin + length))
            assert not BruteForce(World(line.resources, line.allocations, request)).is_possible()
            moment += HOUR


@given(lines())
@settings(max_examples=examples(200), deadline=None)
def test_each_lease_that_could_ever_fit_is_promoted_when_all_others_are_gone(line: Line) -> None:
    """Those that have got something go, and the next walk begins without them: after as many walks as leases
    wait, only those are left that do not fit where nothing else is."""
    rest = list(line.wishes)
    for _ in line.wishes:
        empty = Line(line.resources, (), tuple(rest))
        left = walk(empty, empty.calendar()).left
        rest = [rest[number] for number in left]
    for wish in rest:
        single = Line(line.resources, (), (wish,))
        assert walk(single, single.calendar()).left == [0]


def test_what_a_rule_forbids_is_kept_for_nobody() -> None:
    pool = (Resource("1", HOSTS, {}, frozenset(), {}),)
    wish = Wish({HOSTS: PlanRequest(span(0, 2), (Demand("r", 1, 1),))}, START)
    calendar = Line(pool, (), ()).calendar()
    assert promotion(search_in(calendar), wish, [], lambda _: Objection(None)) == (None, False)


def test_a_flexible_lease_is_found_before_beside_and_after_those_ahead() -> None:
    both = tuple(
        Resource(name, HOSTS, {"gpu": gpu}, frozenset(), {}) for name, gpu in (("1", "y"), ("2", "n"))
    )
    taken = Allocation("a", "r", "l", "1", span(4, 6))
    first = Wish(
        {HOSTS: PlanRequest(span(4, 6), (Demand("r1", 1, 1, resources=frozenset("1")),))}, span(4, 6).start
    )

    second = Wish(
        {HOSTS: PlanRequest(span(7, 9), (Demand("r3", 1, 1, resources=frozenset("1")),))}, span(7, 9).start
    )

    def starts_at(earliest: int, latest: int, *names: str, ahead: Sequence[Wish] = (first,)) -> object:
        demand = Demand("r2", 1, 1, resources=frozenset(names))
        wish = Wish(
            {HOSTS: PlanRequest(span(earliest, earliest + 2), (demand,))}, span(latest, latest + 1).start
        )
        calendar = Line(both, (taken,), ()).calendar()
        plan, _ = promotion(search_in(calendar), wish, ahead)
        return plan and ((plan.interval.start - START) // HOUR, plan.plan.resources("r2"))

    assert starts_at(0, 9, "1") == (0, ("1",))
    assert starts_at(3, 9, "1", "2") == (3, ("2",))
    assert starts_at(3, 9, "1") == (6, ("1",))
    assert starts_at(3, 5, "1") is None
    assert starts_at(3, 9, "1", ahead=(first, second)) == (9, ("1",))
    assert starts_at(3, 8, "1", ahead=(second, first)) is None


# ---------------------------------------------------------------------------------- turns and deadlines

NOW = START + 17 * MINUTE + timedelta(seconds=3)


def waiting(turn: datetime, since: datetime = NOW, **fields: object) -> Waiting:
    return replace(Waiting(since, NOW + 5 * HOUR, turn), **fields)  # type: ignore[arg-type]


def test_each_lease_of_a_project_that_waits_already_costs_the_next_one_an_hour() -> None:
    assert turn_of(NOW, 0) == NOW
    assert turn_of(NOW, 3) == NOW + 3 * PENALTY == NOW + 3 * HOUR


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 3)), min_size=1, max_size=30))
def test_no_lease_has_more_than_so_many_ahead(arrivals: list[tuple[int, int]]) -> None:
    """A lease comes before all that come an hour per waiting lease later: nothing that comes afterwards can
    put it off for ever."""
    places: list[tuple[str, Waiting]] = []
    of: dict[str, int] = {}
    for number, (minute, project) in enumerate(sorted(arrivals)):
        before = sum(1 for each in of.values() if each == project)
        now = NOW + minute * MINUTE
        places.append((f"{number:02}", waiting(turn_of(now, before), now)))
        of[f"{number:02}"] = project
    order = in_line(reversed(places))
    known = dict(places)
    for at, lease_id in enumerate(order):
        for other in order[:at]:
            assert known[other].since <= known[lease_id].turn


def test_a_lease_gives_up_when_it_could_not_start_any_more() -> None:
    interval, later = span(2, 4), START + 9 * HOUR
    assert gives_up(later, interval, False, None, None) == interval.start
    assert gives_up(START + HOUR, interval, False, None, None) == START + HOUR
    assert gives_up(later, interval, True, None, None) == interval.end
    assert gives_up(later, interval, True, 2 * HOUR, None) == later
    assert gives_up(later, interval, False, 2 * HOUR, START + 3 * HOUR) == START + 3 * HOUR


def test_the_starts_that_would_do() -> None:
    minute, interval = START + 17 * MINUTE, span(2, 4)
    assert starts(waiting(NOW), interval, NOW) == Starts(interval, interval.start)
    assert starts(waiting(NOW), interval, NOW + 5 * HOUR) is None
    assert starts(waiting(NOW, starts_now=True), span(0, 2), NOW) == Starts(
        Interval(minute, span(0, 2).end), minute
    )
    assert starts(waiting(NOW, starts_now=True, duration=HOUR), span(0, 1), NOW) == Starts(
        Interval(minute, minute + HOUR), minute
    )
    window = waiting(NOW, is_flexible=True, duration=HOUR, latest_end=START + 3 * HOUR)
    assert starts(window, span(0, 1), NOW) == Starts(Interval(minute, minute + HOUR), START + 2 * HOUR)
    assert starts(window, span(0, 1), NOW + 2 * HOUR) is None
    found = starts(window, span(0, 1), NOW)
    assert found is not None and found.window == Interval(minute, START + 3 * HOUR)
