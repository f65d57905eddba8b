"""The search for availability against brute force: no earlier start exists than the one called earliest, and
no longer duration than the one called longest."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from effort import examples
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from blazar.adapters.memory import MemoryDatabase
from blazar.domain.planning.availability import AvailabilitySearch, Objection
from blazar.domain.planning.budget import DECISION, Budget
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.plan import PlanOutline
from blazar.domain.resource import Pool
from blazar.service.calendars import Calendars
from blazar.service.context import Caller

from .test_pools import FixedClock, Side, sides
from .worlds import HOUR, LAST_HOUR, START, BruteForce, World, hours, span, worlds

POOL = Pool("host")


def search_in(world: World) -> AvailabilitySearch:
    snapshot = world.calendar.snapshot()
    return AvailabilitySearch(lambda pool: snapshot, Budget(DECISION))


def possible_starts(world: World) -> list[int]:
    first = hours(world.request.interval).start
    return [at for at in range(first, 3 * LAST_HOUR) if BruteForce(world.at(at)).is_possible()]


@given(worlds(updates=False), st.one_of(st.none(), st.integers(0, 2 * LAST_HOUR)))
@settings(max_examples=examples(400), deadline=None)
def test_no_earlier_start_exists_than_the_one_called_earliest(world: World, latest: int | None) -> None:
    search = search_in(world)
    starts = [at for at in possible_starts(world) if latest is None or at <= latest]
    if latest is not None:
        assume(latest >= hours(world.request.interval).start)
    found = search.earliest({POOL: world.request}, None if latest is None else START + latest * HOUR)
    event("found" if found else "none")
    assert search.is_exact
    if found is None:
        assert not starts
        return
    assert found.interval.start == START + starts[0] * HOUR
    assert found.interval.duration == world.request.interval.duration
    for demand in world.request.demands:
        assert demand.minimum <= found.units(demand.reservation_id) <= demand.maximum
        assert found.units(demand.reservation_id) == found.plan.units(demand.reservation_id)
    assert found.plan.interval == found.interval


@given(worlds(updates=False, most_demands=2), st.sets(st.integers(0, 2 * LAST_HOUR)))
@settings(max_examples=examples(300), deadline=None)
def test_starts_that_a_rule_refuses_are_passed_over(world: World, refused: set[int]) -> None:
    def rules(plan: PlanOutline) -> Objection | None:
        at = (plan.interval.start - START) // HOUR
        return Objection(START + (at + 1) * HOUR) if at in refused else None

    starts = [at for at in possible_starts(world) if at not in refused]
    found = search_in(world).earliest({POOL: world.request}, None, rules)
    # A start that follows a refused one need not be one at which an allocation ends.
    assert (found and (found.interval.start - START) // HOUR) == (starts[0] if starts else None)


@given(worlds(updates=False), st.integers(1, 3))
@settings(max_examples=examples(400), deadline=None)
def test_no_longer_duration_fits_than_the_one_called_longest(world: World, shortest: int) -> None:
    wanted = len(hours(world.request.interval))
    start = hours(world.request.interval).start

    def fits(length: int) -> bool:
        request = PlanRequest(span(start, start + length), world.request.demands, world.request.cleaning)
        return BruteForce(replace(world, request=request, exempts=False)).is_possible()

    assume(not fits(wanted))
    found = search_in(world).longest({POOL: world.request}, shortest * HOUR)
    lengths = [length for length in range(shortest, wanted) if fits(length)]
    event("found" if found else "none")
    if found is None:
        assert not lengths
    else:
        assert found.interval.duration == lengths[-1] * HOUR
        assert found.interval.start == world.request.interval.start


@given(worlds(updates=False), st.integers(1, 3), st.integers(1, 6))
@settings(max_examples=examples(300), deadline=None)
def test_the_longest_duration_is_one_that_the_rules_allow(world: World, shortest: int, allowed: int) -> None:
    def rules(plan: PlanOutline) -> Objection | None:
        return Objection(None) if plan.interval.duration > allowed * HOUR else None

    wanted, start = len(hours(world.request.interval)), hours(world.request.interval).start

    def suits(length: int) -> bool:
        request = PlanRequest(span(start, start + length), world.request.demands, world.request.cleaning)
        return BruteForce(replace(world, request=request, exempts=False)).is_possible() and length <= allowed

    assume(not suits(wanted) and wanted > allowed)
    lengths = [length for length in range(shortest, wanted) if suits(length)]
    found = search_in(world).longest({POOL: world.request}, shortest * HOUR, rules)
    event("found" if found else "none")
    assert (found and found.interval.duration) == (lengths[-1] * HOUR if lengths else None)


@given(sides(Pool("host")), sides(Pool("floatingip")), st.integers(0, LAST_HOUR), st.integers(1, 4))
@settings(max_examples=examples(300), deadline=None)
def test_the_earliest_start_of_several_pools_suits_them_all(
    hosts: Side, addresses: Side, start: int, length: int
) -> None:
    database = MemoryDatabase()
    for side in (hosts, addresses):
        database.transact(side.store)
    requests = {
        side.pool: PlanRequest(span(start, start + length), side.demands(), HOUR)
        for side in (hosts, addresses)
    }
    with Calendars(database, FixedClock()).searching(Caller("user", "project")) as search:
        found = search.earliest(requests, None)
    suitable = [
        at for at in range(start, 2 * LAST_HOUR) if all(s.suits(at, length, 1) for s in (hosts, addresses))
    ]
    assert search.is_exact
    assert found is not None
    assert found.interval.start == START + timedelta(hours=suitable[0])
