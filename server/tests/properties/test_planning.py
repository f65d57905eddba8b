"""The planner against brute force: never above capacity, never refused what fits, as much and as calm as
promised."""

from __future__ import annotations

from collections import Counter

import pytest
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.domain.planning import first_fit
from blazar.domain.planning.budget import Budget
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.planning.plan import Cause, Plan, Shortage
from blazar.domain.planning.planner import Allowance, candidates_for, is_possible, plan, with_first_fit
from blazar.domain.resource import Allocation

from .worlds import HOUR, LAST_HOUR, START, BruteForce, World, hours, is_within_capacity, worlds


def outcome_of(world: World) -> Plan | Shortage:
    snapshot, allowance = world.calendar.snapshot(), Allowance()
    outcome = plan(snapshot, world.request, allowance)
    if isinstance(outcome, Shortage):
        return with_first_fit(snapshot, world.request, outcome, allowance)
    return outcome


def committed(world: World, made: Plan) -> list[Allocation]:
    """All allocations after the plan was carried out, from nothing but its rows."""
    gone = {row.id for row in made.released} | {kept.old.id for kept in made.kept}
    rows = [row for row in world.allocations if row.id not in gone]
    rows += [kept.new for kept in made.kept]
    rows += [
        Allocation(f"new-{n}", a.reservation_id, "own-lease", a.resource_id, made.interval, a.usage, a.slots)
        for n, a in enumerate(made.added)
    ]
    return rows


def check(world: World, made: Plan) -> None:
    """Everything that holds of each plan."""
    brute = BruteForce(world)
    after = committed(world, made)
    for demand in world.request.demands:
        own = [row for row in after if row.reservation_id == demand.reservation_id]
        assert all(row.interval == made.interval and row.usage == demand.usage for row in own)
        by_resource: Counter[str] = Counter()
        for row in own:
            by_resource[row.resource_id] += row.slots
        assert by_resource == {
            a.resource_id: a.slots for a in made.assignments if a.reservation_id == demand.reservation_id
        }
        assert demand.minimum <= sum(by_resource.values()) <= demand.maximum
        assert set(demand.must_include) <= set(by_resource)
        check_grouping(demand, by_resource)
        if demand.keep_current:
            assert not [row for row in made.released if row.reservation_id == demand.reservation_id]
            kept = [k for k in made.kept if k.old.reservation_id == demand.reservation_id]
            assert all(k.new.slots >= k.old.slots for k in kept)
            assert {k.old.id for k in kept} == {row.id for row in demand.current}
    for resource in world.resources:
        units = [
            sum(
                a.slots
                for a in made.assignments
                if (a.reservation_id, a.resource_id) == (d.reservation_id, resource.id)
            )
            for d in world.request.demands
        ]
        assert brute.holds(resource, units), f"{resource.id} does not hold {units}"
        assert is_within_capacity(resource, [row for row in after if row.resource_id == resource.id])
    check_generations(world, made)


def check_grouping(demand: Demand, by_resource: Counter[str]) -> None:
    if demand.grouping is Grouping.TOGETHER:
        assert len(by_resource) <= 1
    elif demand.grouping is Grouping.APART:
        assert set(by_resource.values()) <= {1}


def check_generations(world: World, made: Plan) -> None:
    touched = {a.resource_id for a in made.added} | {row.resource_id for row in made.released}
    touched |= {kept.old.resource_id for kept in made.kept if kept.new != kept.old}
    known = {resource.id: resource.generation for resource in world.resources}
    assert made.generations == {name: known[name] for name in touched}


@given(worlds())
@settings(max_examples=examples(1500), deadline=None)
def test_a_request_is_planned_soundly_or_does_not_fit(world: World) -> None:
    outcome = outcome_of(world)
    event(f"{len(world.request.demands)} demands: {type(outcome).__name__}")
    snapshot = world.calendar.snapshot()
    candidates = candidates_for(snapshot, world.request, Budget())
    possible = is_possible(snapshot, world.request, candidates, Budget())
    assert possible == isinstance(outcome, Plan)
    if isinstance(outcome, Plan):
        check(world, outcome)
    else:
        assert not BruteForce(world).is_possible()


@given(worlds(updates=False, wholes_only=True))
@settings(max_examples=examples(400), deadline=None)
def test_whole_resources_are_shared_out_as_promised(world: World) -> None:
    """The first demand gets the most that it can while the others have their minimum, then the second, and so
    on."""
    outcome = outcome_of(world)
    if not isinstance(outcome, Plan):
        assert not BruteForce(world).is_possible()
        return
    check(world, outcome)
    settled: dict[int, int] = {}
    for number, demand in enumerate(world.request.demands):
        settled[number] = outcome.units(demand.reservation_id)
        assert settled[number] == demand.maximum or not BruteForce(world).is_possible(
            settled | {number: settled[number] + 1}
        )


@given(worlds(most_demands=1))
@settings(max_examples=examples(600), deadline=None)
def test_one_demand_gets_all_it_can_and_keeps_all_it_can(world: World) -> None:
    outcome = outcome_of(world)
    snapshot = world.calendar.snapshot()
    candidates = candidates_for(snapshot, world.request, Budget())
    possible = is_possible(snapshot, world.request, candidates, Budget())
    assert possible == isinstance(outcome, Plan)
    if not isinstance(outcome, Plan):
        return
    (demand,) = world.request.demands
    brute = BruteForce(world)
    got = outcome.units(demand.reservation_id)
    if demand.grouping is Grouping.TOGETHER:
        stays = {a.resource_id for a in outcome.assignments} & {row.resource_id for row in demand.current}
        assert got == demand.maximum or stays or not brute.is_possible({0: got + 1})
        return
    assert got == demand.maximum or not brute.is_possible({0: got + 1})
    keepable = 0
    for resource in world.resources:
        held = sum(row.slots for row in demand.current if row.resource_id == resource.id)
        most = 1 if demand.grouping is Grouping.APART else held
        keepable += max((n for n in range(min(held, most) + 1) if brute.holds(resource, [n])), default=0)
    needed = sum(brute.needed(resource, demand) for resource in world.resources)
    kept = sum(min(k.old.slots, k.new.slots) for k in outcome.kept)
    assert kept >= min(keepable, demand.maximum - (0 if demand.keep_current else needed))


@given(worlds(updates=False), st.sampled_from([first_fit.STAGES, (90 * 60, 3 * 3600), (3600, 3600)]))
@settings(max_examples=examples(600), deadline=None)
def test_the_first_fit_is_the_earliest_start_at_which_the_request_fits(
    world: World, stages: tuple[int, ...]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(first_fit, "STAGES", stages)
        outcome = outcome_of(world)
    if not isinstance(outcome, Shortage):
        return
    first = hours(world.request.interval).start
    later = (start for start in range(first + 1, 3 * LAST_HOUR) if BruteForce(world.at(start)).is_possible())
    start = next(later, None)
    event("never" if start is None else "later")
    assert outcome.first_fit == (None if start is None else START + start * HOUR)


@given(worlds())
@settings(max_examples=examples(300), deadline=None)
def test_a_shortage_names_a_demand_that_fails_and_counts_rightly(world: World) -> None:
    outcome = outcome_of(world)
    if not isinstance(outcome, Shortage):
        return
    event(outcome.cause)
    (demand,) = (d for d in world.request.demands if d.reservation_id == outcome.reservation_id)
    request = world.request
    alone = World(
        world.resources,
        world.allocations,
        PlanRequest(request.interval, (demand,), request.cleaning),
    )
    brute = BruteForce(alone)
    # What the other demands have now is not in the way either: the request would replace it. No cleaning time
    # is asked for within it.
    brute.current = [a for d in request.demands for a in d.current]
    replaced = {d.reservation_id for d in request.demands}
    brute.others = [row for row in brute.others if row.reservation_id not in replaced]
    assert brute.is_possible() == (outcome.cause is Cause.COMBINATION)
    brute.others = []
    empty_matching = [r for r in world.resources if r.reservable and brute.holds(r, [1])]
    assert outcome.matched == len(empty_matching)
    assert outcome.reason.endswith(".")
