"""Do requests stay out of each other's way, and take what is contended where nothing else will do?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from blazar.domain.errors import Stale
from blazar.domain.lease.lease import Lease
from blazar.service.contention import LEFT_ALONE, MOST, Contention

from .test_enforcement import Ledger, world_of
from .world import MovedClock, World, instances


def create_beside(world: World, ledger: Ledger, other: Callable[[], Lease], start: int = 0) -> Lease:
    """Create a lease, and let another request be carried out between its plan and its commit."""
    others = [other]

    def meanwhile(_: object) -> None:
        if others:
            others.pop()()

    ledger.before = meanwhile
    return world.create("slower", start=start, end=start + 60)


def planned(ledger: Ledger) -> list[list[str]]:
    return [sorted(a.resource_id for a in each.lease.allocations) for each in ledger.asked]


def test_a_plan_leaves_aside_what_another_request_is_about_to_take() -> None:
    ledger = Ledger()
    world = world_of(ledger)
    create_beside(world, ledger, lambda: world.create("faster"))
    assert planned(ledger) == [["1"], ["2"]]  # no conflict: each was planned once
    later = world.create("later", start=120, end=180)
    assert world.hosts_of(later) == {"1"}


def test_instances_leave_it_aside_as_well() -> None:
    ledger = Ledger()
    world = world_of(ledger)
    one = {"start": 0, "end": 60}
    create_beside(world, ledger, lambda: world.reserve(instances(amount=1), **one), start=600)
    assert planned(ledger) == [["1"], ["2"]]


def test_what_is_contended_is_taken_where_nothing_else_will_do() -> None:
    ledger = Ledger()
    world = world_of(ledger, hosts=1)
    lease = create_beside(world, ledger, lambda: world.create("faster", start=0, end=60), start=120)
    assert planned(ledger)[:2] == [["1"], ["1"]]
    assert world.hosts_of(lease) == {"1"}
    assert len(world.leases.list(None)) == 2


def test_after_a_conflict_a_manager_leaves_the_host_to_the_other_one_for_a_while() -> None:
    ledger = Ledger()
    world = world_of(ledger)
    lease = create_beside(world, ledger, lambda: world.beside().create("faster"), start=600)
    assert planned(ledger) == [["1"], ["1"], ["2"]]
    assert world.hosts_of(lease) == {"2"}
    assert world.hosts_of(world.create(start=1200, end=1260)) == {"2"}
    world.clock.pause(LEFT_ALONE.total_seconds())
    assert world.hosts_of(world.create(start=1300, end=1360)) == {"1"}


def test_a_plan_knows_what_was_stated_meanwhile() -> None:
    contention = Contention(MovedClock())
    with contention.intent() as mine, contention.intent() as other:
        assert other.state(["1", "2"], known=())
        assert not mine.state(["2", "3"], known=())
        assert mine.state(["2"], known=contention.contended())
        assert contention.contended() == {"1", "2"}
        assert mine.state(["3"], known=())
        assert contention.contended() == {"1", "2", "3"}
    assert contention.contended() == frozenset()


def test_a_failed_commit_of_few_resources_is_remembered_for_a_while() -> None:
    clock = MovedClock()
    contention = Contention(clock)
    for resource_ids in (["1"], [str(n) for n in range(2, MOST + 3)]):
        with pytest.raises(Stale), contention.intent() as intent:
            intent.state(resource_ids, known=())
            raise Stale()
    assert contention.contended() == {"1"}
    clock.pause((LEFT_ALONE + timedelta(seconds=1)).total_seconds())
    assert contention.contended() == frozenset()
