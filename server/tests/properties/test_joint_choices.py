"""The exact parts of the planner by themselves: they find a choice for several demands where one exists, and
only there."""

from __future__ import annotations

from dataclasses import replace

from effort import examples
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from blazar.domain.planning.attempt import Attempt
from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.candidate import Choice, candidate_for
from blazar.domain.planning.capacity import Capacity
from blazar.domain.planning.choice import Preference
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.planning.matching import match_whole_resources
from blazar.domain.planning.search import search
from blazar.domain.resource import Allocation, Inventory, Pool, Resource, Usage

from .worlds import BruteForce, World, span, worlds


def parts(world: World) -> Attempt:
    request = world.request
    replaced = [demand.reservation_id for demand in request.demands]
    calendar = world.calendar.snapshot()
    window = calendar.window(request.interval, request.cleaning, replaced)
    candidates = [candidate_for(calendar, demand, Budget()) for demand in request.demands]
    return Attempt(calendar, request, candidates, window, Budget())


def brute_force(world: World) -> BruteForce:
    """Return the brute force for ``parts``, which widens the window by the cleaning time everywhere."""
    return BruteForce(replace(world, exempts=False))


def check_choices(world: World, attempt: Attempt, choices: list[Choice]) -> None:
    brute = brute_force(world)
    for served, choice in zip(attempt.candidates, choices, strict=True):
        assert served.least <= sum(choice.values()) <= served.most
        assert all(choice.get(place, 0) >= slots > 0 for place, slots in served.needed.items())
        assert all(slots > 0 for slots in choice.values())
        if served.demand.grouping is Grouping.TOGETHER:
            assert len(choice) <= 1
        if served.demand.grouping is Grouping.APART:
            assert set(choice.values()) <= {1}
    for resource in world.resources:
        place = world.calendar.snapshot().index_of(resource.id)
        assert place is not None
        assert brute.holds(resource, [choice.get(place, 0) for choice in choices])


@given(worlds())
@settings(max_examples=examples(800), deadline=None)
def test_the_search_finds_a_choice_exactly_where_there_is_one(world: World) -> None:
    attempt = parts(world)
    assume(not any(served.unknown or served.least > served.most for served in attempt.candidates))
    choices = search(attempt.candidates, attempt.capacity, Budget())
    event("found" if choices else "none")
    assert (choices is not None) == brute_force(world).is_possible()
    if choices is not None:
        check_choices(world, attempt, choices)


def test_the_search_refuses_what_must_be_together_and_must_stay_on_two_hosts() -> None:
    hosts = tuple(Resource(name, Pool("host"), inventory={"VCPU": Inventory(8, 8)}) for name in "12")
    usage = Usage({"VCPU": 1})
    rows = tuple(Allocation(f"a{h.id}", "r", "lease", h.id, span(0, 4), usage) for h in hosts)
    demand = Demand("r", 2, 2, usage=usage, grouping=Grouping.TOGETHER, current=rows, keep_current=True)
    attempt = parts(World(hosts, rows, PlanRequest(span(0, 4), (demand,))))
    assert search(attempt.candidates, attempt.capacity, Budget()) is None


@given(worlds(wholes_only=True))
@settings(max_examples=examples(400), deadline=None)
def test_the_matching_finds_a_choice_exactly_where_there_is_one(world: World) -> None:
    attempt = parts(world)
    assume(not any(served.unknown or served.least > served.most for served in attempt.candidates))
    preference = Preference(world.request.order, world.calendar.snapshot().rank, world.request.seed)
    floors = [served.needed for served in attempt.candidates]
    choices = match_whole_resources(attempt.candidates, attempt.capacity, preference, floors, Budget())
    event("found" if choices else "none")
    assert (choices is not None) == brute_force(world).is_possible()
    if choices is not None:
        check_choices(world, attempt, choices)


@st.composite
def tight_worlds(draw: st.DrawFn) -> World:
    """A few hosts that hold exactly what is asked: most ways to fill them fail."""
    hosts: list[Resource] = []
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=3, unique=True))
    wanted = [0] * len(sizes)
    for number in range(draw(st.integers(2, 3))):
        units = [draw(st.integers(0, 2)) for _ in sizes]
        wanted = [a + b for a, b in zip(wanted, units, strict=True)]
        capacity = sum(n * size for n, size in zip(units, sizes, strict=True))
        hosts.append(
            Resource(
                str(number),
                Pool("host"),
                inventory={"VCPU": Inventory(capacity, 9), "DISK_GB": Inventory(0, 0)},
            )
        )
    asked = [
        Demand(f"r{number}", n, n, usage=Usage({"VCPU": size}))
        for number, (n, size) in enumerate(zip(wanted, sizes, strict=True))
        if n
    ]
    assume(len(asked) > 1)
    hosts = draw(st.permutations(hosts))
    renamed = tuple(replace(host, id=str(number)) for number, host in enumerate(hosts))
    return World(renamed, (), PlanRequest(span(0, 1), tuple(draw(st.permutations(asked)))))


@given(tight_worlds())
@settings(max_examples=examples(500), deadline=None)
def test_what_fits_in_one_way_only_is_planned(world: World) -> None:
    attempt = parts(world)
    choices = attempt.choices()
    assert choices is not None
    check_choices(world, attempt, choices)


@given(worlds(), st.integers(0, 60))
@settings(max_examples=examples(200), deadline=None)
def test_a_search_that_gives_up_claims_nothing(world: World, effort: int) -> None:
    attempt = parts(world)
    assume(not any(served.unknown or served.least > served.most for served in attempt.candidates))
    calendar = world.calendar.snapshot()
    capacity = Capacity(calendar.columns, calendar.window(world.request.interval), attempt.candidates)
    try:
        choices = search(attempt.candidates, capacity, Budget(effort))
    except CutShort:
        event("cut short")
        return
    event("found" if choices else "none")
    if choices is not None:
        assert all(
            served.least <= sum(c.values()) for served, c in zip(attempt.candidates, choices, strict=True)
        )
