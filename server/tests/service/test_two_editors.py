"""Two editors of one lease: who decides on what has changed meanwhile is told, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from new_databases import give_schema

from blazar.adapters.db import SqlDatabase
from blazar.domain.errors import LeaseChanged, OutcomeUnknown
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.commands import ReservationChange, UpdateLease

from .world import ALT, DEMO, World, instances, servers, whole_hosts

MAKERS: dict[str, Callable[[World], Lease]] = {
    "hosts": lambda world: world.reserve(whole_hosts(), start=60, end=120),
    "instances": lambda world: world.reserve(instances(), start=60, end=120),
    "servers": lambda world: world.reserve(servers(), start=60, end=120),
}


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "memory":
        yield World()
        return
    database = SqlDatabase(f"sqlite:///{tmp_path}/blazar.db")
    give_schema(database.engine)
    yield World(database=database)
    database.close()


def once(world: World, act: Callable[[], object]) -> None:
    """Have another one act between the next read and its commit."""

    def step() -> None:
        world.database.step = lambda: None
        act()

    world.database.step = step


def edit(world: World, lease: Lease, *revisions: int, **changes: Any) -> Lease:
    return world.leases.update(lease.id, UpdateLease(**changes), DEMO, revisions=revisions or None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("changes", [{"name": "mine"}, {"minutes": 180}], ids=["name", "end"])
def test_a_change_between_read_and_commit_is_told(world: World, kind: str, changes: dict[str, Any]) -> None:
    lease = MAKERS[kind](world)
    asked = {"end": world.in_minutes(changes["minutes"])} if "minutes" in changes else changes
    once(world, lambda: world.update(lease, name="theirs"))
    with pytest.raises(LeaseChanged) as told:
        edit(world, lease, lease.revision, **asked)
    stored = world.lease(lease)
    assert told.value.fields == {"revision": stored.revision}
    assert (stored.name, stored.interval) == ("theirs", lease.interval)
    # After another look it is changed, and without the condition the last one wins.
    assert edit(world, lease, stored.revision, **asked) != stored
    once(world, lambda: world.update(lease, name="theirs again"))
    assert edit(world, lease, name="mine after all").name == "mine after all"


@pytest.mark.slow
def test_a_start_between_read_and_commit_is_told(world: World) -> None:
    lease = world.create(end=60)
    once(world, lambda: world.advance(seconds=1))
    with pytest.raises(LeaseChanged):
        edit(world, lease, lease.revision, name="mine")
    assert world.lease(lease).status is LeaseStatus.ACTIVE


@pytest.mark.slow
def test_what_others_take_meanwhile_is_no_change_of_the_lease(world: World) -> None:
    lease = world.create(start=60, end=120)
    once(world, lambda: world.reserve(whole_hosts(), start=60, end=180, caller=ALT))
    longer = edit(world, lease, lease.revision, end=world.in_minutes(150))
    assert longer.interval.end == world.in_minutes(150)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_a_deletion_of_what_has_changed_is_told(world: World, kind: str) -> None:
    lease = MAKERS[kind](world)
    once(world, lambda: world.update(lease, name="theirs"))
    with pytest.raises(LeaseChanged):
        world.leases.delete(lease.id, DEMO, revisions=(lease.revision,))
    seen = world.lease(lease)
    assert seen.name == "theirs"
    world.leases.delete(lease.id, DEMO, revisions=(seen.revision,))
    world.advance(seconds=1)
    assert not world.leases.list(None)


@pytest.mark.slow
def test_what_is_as_asked_for_already_is_no_refusal(world: World) -> None:
    """The answer to the first request was lost, and it is made again."""
    lease = world.create(start=60, end=120)
    changes = {"name": "mine", "end": world.in_minutes(150)}
    first = edit(world, lease, lease.revision, **changes)
    assert edit(world, lease, lease.revision, **changes) == first
    assert edit(world, lease, lease.revision, name="mine") == first


def test_a_lost_commit_is_found_by_the_condition_too(world: World) -> None:
    lease = world.create(start=60, end=120)
    steps = iter([None, OutcomeUnknown(service="database", reason="lost"), None, None])

    def lose() -> None:
        if failure := next(steps, None):
            raise failure

    world.database.step = lose
    assert edit(world, lease, lease.revision, name="mine").name == "mine"


@pytest.mark.slow
def test_what_a_change_itself_stores_on_its_way_is_no_change_by_another(world: World) -> None:
    """A change of servers is remembered before anything is made in the cloud, by a commit of its own."""
    lease = world.reserve(servers(), start=60, end=120)
    reservation = lease.reservations[0]
    steps = iter(range(1, 100))

    def conflict() -> None:
        if next(steps) == 3:  # between the two commits, something changes on every host
            hosts = ["1", "2", "3", "4"]
            world.database.inner.transact(lambda uow: uow.resources.touch(hosts, world.clock.now()))

    world.database.step = conflict
    change = ReservationChange(reservation.id, {"affinity": False, "amount": 2})
    changed = edit(world, lease, lease.revision, reservations=(change,))
    assert next(steps) > 5  # the second commit failed, and was repeated
    assert changed.reservations[0].parameters["amount"] == 2


def test_a_preview_is_refused_as_the_change_is(world: World) -> None:
    lease = world.create(start=60, end=120)
    seen = world.update(lease, name="theirs")
    for changes in ({"name": "mine"}, {"end": world.in_minutes(150)}):
        with pytest.raises(LeaseChanged):
            world.leases.preview_update(lease.id, UpdateLease(**changes), DEMO, revisions=(lease.revision,))
        world.leases.preview_update(lease.id, UpdateLease(**changes), DEMO, revisions=(seen.revision,))
    assert world.lease(lease) == seen
