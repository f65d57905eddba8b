"""The gate against brute force: it holds back no start that suits, and those that free resources rule out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import numpy as np
import pytest
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.domain.calendar.snapshot import CalendarSnapshot, seconds
from blazar.domain.planning import gate as module
from blazar.domain.planning.budget import Budget
from blazar.domain.planning.candidate import candidate_for
from blazar.domain.planning.demand import Demand, Grouping, PlanRequest
from blazar.domain.planning.gate import Ahead, gates
from blazar.domain.resource import WHOLE, Allocation, Inventory, Pool, Resource, Usage
from blazar.domain.time import epoch

from .worlds import HOUR, LAST_HOUR, START, BruteForce, World, hours, span, worlds

FAR = 2**61


def passing(calendar: CalendarSnapshot, request: PlanRequest, starts: list[int]) -> list[int]:
    """Return which of these hours the gates let through."""
    moments = np.array([epoch(START + hour * HOUR) for hour in starts])
    cleaning = seconds(request.cleaning)
    ignore = [demand.reservation_id for demand in request.demands]
    candidates = [candidate_for(calendar, demand, Budget()) for demand in request.demands]
    rows = calendar.occupancy.overlapping(epoch(request.interval.start) - cleaning, FAR, ignore)
    ahead = Ahead(calendar, rows, request.interval.duration // timedelta(seconds=1), cleaning)
    passes = np.ones(len(starts), bool)
    for each in gates(ahead, candidates, Budget()):
        passes &= each.passes_wholes(moments) & each.passes_parts(moments)
    return [hour for hour, let_through in zip(starts, passes.tolist(), strict=True) if let_through]


@given(worlds(updates=False), st.sampled_from([(256, 16), (1, 16), (256, 2)]))
@settings(max_examples=examples(800), deadline=None)
def test_no_start_that_suits_is_held_back(world: World, limits: tuple[int, int]) -> None:
    first = hours(world.request.interval).start
    starts = list(range(first, 3 * LAST_HOUR))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "MOST_CLASSES", limits[0])
        patched.setattr(module, "LEVELS", limits[1])
        let_through = passing(world.calendar.snapshot(), world.request, starts)
    possible = [start for start in starts if BruteForce(world.at(start)).is_possible()]
    event(f"{len(let_through) == len(possible)}: as brute force says")
    assert set(possible) <= set(let_through)


@given(worlds(updates=False, most_demands=1))
@settings(max_examples=examples(300), deadline=None)
def test_for_one_demand_for_whole_resources_it_is_exact(world: World) -> None:
    (demand,) = world.request.demands
    if not demand.usage.whole or demand.must_include or demand.grouping is Grouping.TOGETHER:
        return
    starts = list(range(hours(world.request.interval).start, 3 * LAST_HOUR))
    possible = [start for start in starts if BruteForce(world.at(start)).is_possible()]
    assert passing(world.calendar.snapshot(), world.request, starts) == possible


HOSTS = {"small-1": 4, "small-2": 4, "large": 16}
"""VCPUs of each host."""
ONE = Usage({"VCPU": 1})
EVERY = list(range(7))


def taken(host: str, start: int, end: int, usage: Usage = WHOLE, slots: int = 1) -> Allocation:
    name = f"{host}-{start}"
    return Allocation(name, f"r-{name}", f"l-{name}", host, span(start, end), usage, slots)


@pytest.mark.parametrize(
    ("occupied", "demands", "expected"),
    [
        # Units count, and not hosts.
        ([taken("large", 0, 5)], [Demand("a", 9, 9, usage=ONE)], [5, 6]),
        ([taken("small-1", 0, 5)], [Demand("a", 20, 20, usage=ONE)], EVERY),
        ([taken("small-1", 0, 5)], [Demand("a", 21, 21, usage=ONE)], [5, 6]),
        # Together they must fit on one host, apart on as many as there are.
        ([taken("large", 0, 5)], [Demand("a", 5, 5, usage=ONE, grouping=Grouping.TOGETHER)], [5, 6]),
        ([taken("large", 0, 5)], [Demand("a", 3, 3, usage=ONE, grouping=Grouping.APART)], [5, 6]),
        # Whole hosts leave less, at the least that of the smallest ones.
        ([taken("small-1", 0, 5)], [Demand("a", 1, 1), Demand("b", 17, 17, usage=ONE)], [5, 6]),
        (
            [taken("small-1", 0, 5)],
            [Demand("a", 1, 1), Demand("b", 16, 16, usage=ONE)],
            EVERY,
        ),
        ([taken("small-1", 0, 5)], [Demand("a", 1, 1), Demand("b", 2, 2)], [5, 6]),
        # A part leaves the rest of its host, for instances only.
        ([taken("large", 0, 5, ONE, 12)], [Demand("a", 13, 13, usage=ONE)], [5, 6]),
        ([taken("large", 0, 5, ONE, 12)], [Demand("a", 12, 12, usage=ONE)], EVERY),
        ([taken("large", 0, 5, ONE, 12)], [Demand("a", 3, 3)], [5, 6]),
    ],
)
def test_what_is_free_decides(occupied: list[Allocation], demands: list[Demand], expected: list[int]) -> None:
    assert passing_on(HOSTS, occupied, *demands) == expected


def test_units_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEVELS", 2)
    hosts = {"four": 4, "eight": 8, "sixteen": 16}
    # The eight count as sixteen.
    assert passing_on(hosts, [taken("four", 0, 5)], Demand("a", 28, 28, usage=ONE)) == EVERY
    assert passing_on(hosts, [taken("four", 0, 5)], Demand("a", 33, 33, usage=ONE)) == [5, 6]


def passing_on(hosts: Mapping[str, int], occupied: list[Allocation], *demands: Demand) -> list[int]:
    """Return which of the first hours the gates let through, for one hour."""
    pool = tuple(
        Resource(name, Pool("host"), inventory={"VCPU": Inventory(size, size)})
        for name, size in hosts.items()
    )
    world = World(pool, tuple(occupied), PlanRequest(span(0, 1), demands))
    return passing(world.calendar.snapshot(), world.request, EVERY)
