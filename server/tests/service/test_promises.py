"""What nova-scheduler is told is promised: the sum of all that is on the calendar, in steps."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.time import epoch
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.promises import (
    CLASSES,
    PERIOD,
    Promises,
    PromiseSettings,
    PromiseUseCases,
    Span,
    steps_of,
)

from .world import World, instances

MINUTES = 60
AMOUNTS = st.one_of(st.none(), st.tuples(*[st.integers(0, 3)] * len(CLASSES)))


def promises(world: World, **settings: Any) -> PromiseUseCases:
    return PromiseUseCases(world.calendars, [POOL], world.clock, PromiseSettings(**settings))


def told(found: Promises) -> Any:
    assert found.document is not None
    return json.loads(found.document)


def test_the_hosts_that_can_be_reserved_and_what_is_on_them() -> None:
    world = World()
    whole = world.create(min=1, max=1, start=30, end=60)
    world.reserve(instances(amount=1, vcpus=2, memory_mb=1024, disk_gb=5), start=60, end=90)
    with world.database.read() as uow:
        found = {each.id: each for each in uow.resources.list(POOL)}
    document = told(promises(world).get(""))
    assert document["classes"] == list(CLASSES)
    assert document["margin"] == 10 * MINUTES
    now = epoch(world.clock.now())
    (host_id,) = world.hosts_of(whole)
    capacity = [found[host_id].inventory[each].capacity for each in CLASSES]
    hosts = document["hosts"]
    assert set(hosts) == {"host1", "host2", "host3", "host4"}
    assert all(each["capacity"] == capacity for each in hosts.values())
    steps = [step for each in hosts.values() for step in each["steps"]]
    at = [now + minutes * MINUTES for minutes in (30, 60, 90)]
    assert sorted(steps) == [[at[0], at[1], None], [at[1], at[2], [2, 1024, 5]]]
    assert [at[0], at[1], None] in hosts[f"host{host_id}"]["steps"]
    assert (document["leases"], document["cleaning"]) == ({}, 0)
    cleaned = told(promises(world, cleaning=timedelta(minutes=5)).get(""))
    assert cleaned["cleaning"] == 5 * MINUTES


def test_hosts_that_are_away_are_not_told_and_what_is_too_far_ahead_neither() -> None:
    world = World(hosts=2)
    world.create(min=1, max=1, start=24 * 60, end=25 * 60)
    use_cases = promises(world, ahead=timedelta(hours=2))
    assert all(not each["steps"] for each in told(use_cases.get(""))["hosts"].values())
    world.hosts.unregister("2")
    world.calendars.refresh(in_full=True)
    document = told(use_cases.get(""))
    assert set(document["hosts"]) == {"host1"}
    assert document["until"] >= epoch(world.clock.now()) + 120 * MINUTES


def test_what_has_not_changed_costs_nothing_and_says_so() -> None:
    world, other = World(), World()
    use_cases = promises(world)
    first = use_cases.get("")
    world.advance(seconds=PERIOD / 3)
    assert use_cases.get("").document is first.document, "it is kept"
    assert use_cases.get(first.tag) == Promises(first.tag, None)
    assert promises(world.beside()).get("").tag == first.tag, "another manager says the same"
    assert told(promises(other).get(""))["hosts"] == told(first)["hosts"]
    world.create(min=1, max=1)
    assert use_cases.get(first.tag).document is not None
    second = use_cases.get("")
    world.advance(seconds=PERIOD)
    assert told(use_cases.get(second.tag))["until"] > told(second)["until"]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6), AMOUNTS), max_size=8))
def test_steps_are_the_sum_at_each_moment(drawn: list[tuple[int, int, Any]]) -> None:
    spans: list[Span] = [(start, start + length, amounts) for start, length, amounts in drawn]
    steps = steps_of(spans)
    for before, after in pairwise(steps):
        assert before[1] <= after[0]
    for moment in range(20):
        there = [amounts for start, end, amounts in spans if start <= moment < end]
        expected: Any = [sum(each) for each in zip(*[a for a in there if a is not None], strict=True)]
        expected = None if None in there else expected
        found = [amounts for start, end, amounts in steps if start <= moment < end]
        assert [list(each) if each is not None else None for each in found] == (
            [expected] if expected is None or any(expected) else []
        )
