"""Room that is made for a request, against brute force: it is found if and only if there is any, it is never
more than there is, and nothing moves but what may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from random import Random

from effort import examples
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.demand import Demand, Grouping, Order, PlanRequest
from blazar.domain.planning.movable import Rearrangement
from blazar.domain.planning.planner import plan_if_it_fits
from blazar.domain.planning.rearrangement import movable_allocations, rearrange
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage
from blazar.domain.time import Interval

from .worlds import HOUR, START, BruteForce, World, demands, occupancy, resources, span, spans, usages

STEPS = 400_000
MOST = 50


@dataclass(frozen=True)
class Puzzle:
    """A pool, what is fixed in it, what is movable, and a request that does not fit as things are."""

    resources: tuple[Resource, ...]
    fixed: tuple[Allocation, ...]
    movable: tuple[Demand, ...]
    request: PlanRequest

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        return (*self.fixed, *(row for each in self.movable for row in each.current))

    @property
    def is_whole(self) -> bool:
        return all(each.usage.whole for each in (*self.movable, *self.request.demands))

    @property
    def world(self) -> World:
        return World(self.resources, self.allocations, self.request)

    def rearranged(self, chains: int | None = None) -> Rearrangement | None:
        return rearrange(self.world.calendar.snapshot(), self.request, self.movable, Budget(STEPS), chains)


def allocated(demand: Demand, places: dict[str, int], puzzle_interval: PlanRequest) -> tuple[Allocation, ...]:
    return tuple(
        Allocation(
            f"{demand.reservation_id}-{resource_id}",
            demand.reservation_id,
            f"lease-{demand.reservation_id}",
            resource_id,
            puzzle_interval.interval,
            demand.usage,
            slots,
        )
        for resource_id, slots in places.items()
        if slots
    )


@st.composite
def puzzles(draw: st.DrawFn, wholes_only: bool = False) -> Puzzle:
    pool = draw(resources())
    cleaning = draw(st.sampled_from((timedelta(0), timedelta(0), HOUR)))
    fixed = tuple(draw(occupancy(pool, 3)))
    movable: list[Demand] = []
    taken = list(fixed)
    for number in range(draw(st.integers(1, 4))):
        usage = WHOLE if wholes_only else draw(usages())
        demand = replace(draw(demands(number, usage, pool)), reservation_id=f"movable-{number}")
        if wholes_only and draw(st.booleans()):
            suited = draw(st.sets(st.sampled_from([each.id for each in pool]), min_size=1))
            demand = replace(demand, resources=frozenset(suited))
        asked = PlanRequest(draw(spans()), (demand,), cleaning)
        found = plan_if_it_fits(World(pool, tuple(taken), asked).calendar.snapshot(), asked, Budget())
        if found is None or not found.assignments:
            continue
        has = allocated(demand, {a.resource_id: a.slots for a in found.assignments}, asked)
        movable.append(replace(demand, current=has))
        taken += has
    new = [
        draw(demands(number, WHOLE if wholes_only else draw(usages()), pool))
        for number in range(draw(st.sampled_from((1, 1, 1, 2))))
    ]
    return Puzzle(pool, fixed, tuple(movable), PlanRequest(draw(spans()), tuple(new), cleaning))


def drawn(random: Random) -> Puzzle:
    """Few hosts, and short leases that lie anywhere on them."""
    pool = tuple(
        Resource(
            str(n + 8),
            Pool("host"),
            inventory={"VCPU": Inventory(4, 4)},
            reservable=n == 0 or random.random() < 0.95,
            generation=n,
        )
        for n in range(random.choice((2, 3, 3, 4)))
    )
    cleaning = random.choice((timedelta(0), timedelta(0), HOUR))
    wholes = random.choice((0, 0.5, 0.5, 1))

    def demand(name: str) -> Demand:
        usage = WHOLE if random.random() < wholes else Usage({"VCPU": random.randint(1, 4)})
        units = random.choice((1, 1, 1, 2, 3))
        chosen = frozenset(each.id for each in pool if random.random() < 0.7)
        return Demand(
            name,
            units,
            units,
            usage,
            grouping=random.choice((Grouping.ANY, Grouping.ANY, *Grouping)),
            resources=chosen if random.random() < 0.4 else None,
            must_include=(random.choice(pool).id,) if random.random() < 0.1 else (),
        )

    def interval() -> Interval:
        start = random.randint(0, 5)
        return span(start, start + random.randint(1, 4))

    taken: list[Allocation] = []
    movable: list[Demand] = []
    fixed: list[Allocation] = []
    for number in range(random.randint(2, 7)):
        asked = demand(f"movable-{number}")
        request = PlanRequest(interval(), (asked,), cleaning, Order.RANDOM, random.getrandbits(16))
        found = plan_if_it_fits(World(pool, tuple(taken), request).calendar.snapshot(), request, Budget())
        if found is None:
            continue
        has = allocated(asked, {a.resource_id: a.slots for a in found.assignments}, request)
        taken += has
        if random.random() < 0.15:
            fixed += has
        else:
            movable.append(replace(asked, current=has))
    new = tuple(demand(f"own-reservation-{n}") for n in range(random.choice((1, 1, 2))))
    return Puzzle(pool, tuple(fixed), tuple(movable), PlanRequest(interval(), new, cleaning))


def in_the_way(seed: int) -> Puzzle:
    """Draw until the request does not fit, but would if nothing movable were there."""
    random = Random(seed)
    while True:
        puzzle = drawn(random)
        without = World(puzzle.resources, puzzle.fixed, puzzle.request).calendar.snapshot()
        if (
            plan_if_it_fits(puzzle.world.calendar.snapshot(), puzzle.request, Budget()) is None
            and plan_if_it_fits(without, puzzle.request, Budget()) is not None
        ):
            return puzzle


def placements(
    puzzle: Puzzle, demand: Demand, allocations: Sequence[Allocation]
) -> Iterator[tuple[Allocation, ...]]:
    """All places of a movable reservation beside these allocations; what it has on a host that its user named
    stays there."""
    units = sum(row.slots for row in demand.current)
    named = {row.resource_id: row.slots for row in demand.current if row.resource_id in demand.must_include}
    asked = PlanRequest(
        demand.current[0].interval, (replace(demand, current=(), must_include=()),), puzzle.request.cleaning
    )
    brute = BruteForce(World(puzzle.resources, tuple(allocations), asked))
    has = {row.resource_id: row.slots for row in demand.current}
    choices = []
    for resource in puzzle.resources:
        # What stays where it is was valid when it was planned.
        choices.append(
            [
                n
                for n in range(named.get(resource.id, 0), units + 1)
                if n <= has.get(resource.id, 0) or brute.suits(resource, asked.demands[0], n)
            ]
        )
    for mixture in product(*choices):
        if sum(mixture) != units or not is_grouped(demand, mixture):
            continue
        if all(brute.holds(r, (n,)) for r, n in zip(puzzle.resources, mixture, strict=True) if n):
            places = {r.id: n for r, n in zip(puzzle.resources, mixture, strict=True) if n}
            yield allocated(demand, places, asked)


def is_grouped(demand: Demand, mixture: Sequence[int]) -> bool:
    if demand.grouping is Grouping.TOGETHER:
        return sum(n > 0 for n in mixture) <= 1
    return demand.grouping is not Grouping.APART or max(mixture, default=0) <= 1


def is_possible(puzzle: Puzzle) -> bool:
    def descend(number: int, allocations: tuple[Allocation, ...]) -> bool:
        if number == len(puzzle.movable):
            return BruteForce(World(puzzle.resources, allocations, puzzle.request)).is_possible()
        return any(
            descend(number + 1, (*allocations, *places))
            for places in placements(puzzle, puzzle.movable[number], allocations)
        )

    return descend(0, puzzle.fixed)


def after(puzzle: Puzzle, found: Rearrangement) -> tuple[Allocation, ...]:
    """All allocations when the moves are made and the request is served."""
    slots = {row.id: row.slots for row in puzzle.allocations}
    rows: list[Allocation] = []
    for move in found.moves:
        slots[move.allocation.id] -= move.slots
        rows.append(
            replace(
                move.allocation,
                id=f"{move.allocation.id}-to-{move.resource_id}",
                resource_id=move.resource_id,
                slots=move.slots,
            )
        )
    assert all(n >= 0 for n in slots.values())
    rows += [replace(row, slots=slots[row.id]) for row in puzzle.allocations if slots[row.id]]
    return (
        *rows,
        *(
            Allocation(
                f"new-{n}",
                each.reservation_id,
                "new",
                each.resource_id,
                puzzle.request.interval,
                each.usage,
                each.slots,
            )
            for n, each in enumerate(found.plan.added)
        ),
    )


def check(puzzle: Puzzle, found: Rearrangement) -> None:
    rows = after(puzzle, found)
    movable = {row.id: each for each in puzzle.movable for row in each.current}
    for move in found.moves:
        demand = movable[move.allocation.id]
        assert move.resource_id != move.allocation.resource_id
        assert move.allocation.resource_id not in demand.must_include
    by_name = {resource.id: resource for resource in puzzle.resources}
    for demand in (*puzzle.movable, *puzzle.request.demands):
        own = [row for row in rows if row.reservation_id == demand.reservation_id]
        places = Counter[str]()
        for row in own:
            places[row.resource_id] += row.slots
        had = sum(row.slots for row in demand.current)
        assert (
            sum(places.values()) == had
            if demand.current
            else demand.minimum <= sum(places.values()) <= demand.maximum
        )
        assert is_grouped(demand, [*places.values()])
        assert all(places[name] for name in demand.must_include)
        came = {m.resource_id for m in found.moves if movable[m.allocation.id] is demand}
        interval = own[0].interval if own else puzzle.request.interval
        asked = PlanRequest(
            interval, (replace(demand, current=(), must_include=()),), puzzle.request.cleaning
        )
        brute = BruteForce(World(puzzle.resources, rows, asked))
        for name in came or (places if not demand.current else ()):
            assert brute.suits(by_name[name], demand, places[name])
            assert brute.holds(by_name[name], (places[name],))
    changed = {a.resource_id for a in found.plan.added} | {m.resource_id for m in found.moves}
    assert found.plan.generations == {name: by_name[name].generation for name in changed}


def judge(puzzle: Puzzle) -> None:
    snapshot = puzzle.world.calendar.snapshot()
    fits = plan_if_it_fits(snapshot, puzzle.request, Budget()) is not None
    try:
        found = puzzle.rearranged()
    except CutShort:
        event("cut short")
        return
    possible = is_possible(puzzle)
    if found is not None:
        check(puzzle, found)
        moved = {move.allocation.lease_id for move in found.moves}
        assert moved <= movable_allocations(snapshot, puzzle.request, START, MOST, Budget(STEPS)).keys()
    event("fits" if fits else f"{len(found.moves)} moves" if found else "refused")
    # What fits beside parts of hosts, with cleaning time, depends on the order in which they are planned.
    if puzzle.is_whole or not puzzle.request.cleaning:
        assert (found is not None) == possible


@settings(max_examples=examples(1500), suppress_health_check=list(HealthCheck), deadline=None)
@given(puzzles(wholes_only=True))
def test_whole_hosts_are_found_if_and_only_if_there_are_any(puzzle: Puzzle) -> None:
    judge(puzzle)


@settings(max_examples=examples(3000), suppress_health_check=list(HealthCheck), deadline=None)
@given(st.integers(0, 2**32))
@example(69285759)
def test_in_a_full_pool_room_is_made_if_and_only_if_there_is_any(seed: int) -> None:
    judge(in_the_way(seed))


@settings(max_examples=examples(1500), suppress_health_check=list(HealthCheck), deadline=None)
@given(puzzles())
def test_shared_hosts_are_found_if_and_only_if_there_are_any(puzzle: Puzzle) -> None:
    judge(puzzle)


@settings(max_examples=examples(500), suppress_health_check=list(HealthCheck), deadline=None)
@given(st.one_of(puzzles(wholes_only=True), st.integers(0, 2**32).map(in_the_way)))
def test_what_is_planned_anew_is_sound(puzzle: Puzzle) -> None:
    found = planned_anew(puzzle)
    if found is not None:
        check(puzzle, found)
    event("not found" if found is None else f"{len(found.moves)} moves")


@settings(max_examples=examples(500), suppress_health_check=list(HealthCheck), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((timedelta(0), HOUR)))
def test_on_hosts_that_are_alike_all_that_fits_in_sum_is_planned(seed: int, cleaning: timedelta) -> None:
    puzzle = alike(Random(seed), cleaning)
    rows = [(row.interval.start, row.interval.end + cleaning, row.slots) for row in puzzle.allocations]
    asked, (new,) = puzzle.request.interval, puzzle.request.demands
    rows.append((asked.start, asked.end + cleaning, new.minimum))
    peak = max(sum(n for start, end, n in rows if start <= moment < end) for moment, _, _ in rows)
    found = planned_anew(puzzle)
    assert (found is not None) == (peak <= len(puzzle.resources))
    if found is not None:
        check(puzzle, found)


def planned_anew(puzzle: Puzzle) -> Rearrangement | None:
    """Return what is found without chains of moves."""
    try:
        return puzzle.rearranged(chains=0)
    except CutShort:
        return None


def alike(random: Random, cleaning: timedelta) -> Puzzle:
    """Hosts of which any serves as well as another, and leases that lie anywhere on them."""
    pool = tuple(Resource(str(n), Pool("host"), generation=n) for n in range(random.choice((2, 3, 5, 8))))
    taken: list[Allocation] = []
    movable: list[Demand] = []
    for number in range(random.randint(1, 12)):
        start, units = random.randint(0, 8), random.randint(1, 3)
        asked = Demand(f"movable-{number}", units, units)
        interval = span(start, start + random.randint(1, 5))
        request = PlanRequest(interval, (asked,), cleaning, Order.RANDOM, random.getrandbits(16))
        found = plan_if_it_fits(World(pool, tuple(taken), request).calendar.snapshot(), request, Budget())
        if found is not None:
            has = allocated(asked, {a.resource_id: a.slots for a in found.assignments}, request)
            taken += has
            movable.append(replace(asked, current=has))
    start, units = random.randint(0, 8), random.randint(1, 3)
    interval = span(start, start + random.randint(1, 5))
    return Puzzle(pool, (), tuple(movable), PlanRequest(interval, (Demand("own", units, units),), cleaning))


def test_an_empty_host_that_another_demand_names_is_not_like_the_others() -> None:
    pool = tuple(Resource(name, Pool("host"), inventory={"VCPU": Inventory(4, 4)}) for name in "89")
    new = Demand("any", 1, 1), Demand("named", 1, 1, must_include=("8",))
    found = Puzzle(pool, (), (), PlanRequest(span(0, 1), new)).rearranged()
    assert found is not None
    assert (found.plan.resources("any"), found.plan.resources("named")) == (("9",), ("8",))
