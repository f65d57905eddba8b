"""What consumers of notifications are told of a lease: what the API's answers tell."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from blazar.api.views.leases import lease_view
from blazar.domain.errors import CloudRefused, NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.service.notifications import payload

from .world import ADMIN, World, floating_ips, instances, servers, whole_hosts

KEYS = {
    *("lease_id", "user_id", "project_id", "trust_id", "start_date", "end_date", "status", "reservations"),
    *("events", "name", "created_at", "updated_at", "degraded"),
}
AFTER_A_CHANGE = {
    *("lease.update", "lease.event.start_lease", "lease.event.before_end_lease", "lease.event.end_lease")
}
Told = list[tuple[str, str]]
CREATED = ("lease.create", "PENDING")
STARTED = ("lease.event.start_lease", "ACTIVE")
WARNED = ("lease.event.before_end_lease", "ACTIVE")


def told(world: World) -> Told:
    """Return the event type of each notification with the status of the lease in it.

    What comes twice is known by the event type and the time of the change."""
    with world.database.read() as uow:
        found = uow.outbox.peek(100)
    changes = [(n.event_type, n.payload["lease_id"], n.payload["updated_at"]) for n in found]
    assert len(set(changes)) == len(changes)
    changed = [n for n in found if n.event_type in AFTER_A_CHANGE]
    assert all(n.payload["updated_at"] == f"{n.created_at:%Y-%m-%dT%H:%M:%S.%f}" for n in changed)
    assert all(KEYS <= each.payload.keys() <= {*KEYS, "status_reason"} for each in found)
    return [(each.event_type, each.payload["status"]) for each in found]


def nothing(world: World, lease: Lease) -> None:
    pass


def start(world: World, lease: Lease) -> None:
    world.advance(11)


def fail_to_start(world: World, lease: Lease) -> None:
    def refuse(call: str) -> None:
        raise CloudRefused(service="Nova", reason="no")

    world.cloud.before = refuse
    world.advance(11)


def rename(world: World, lease: Lease) -> None:
    world.update(lease, name="other")


def change_nothing(world: World, lease: Lease) -> None:
    world.update(lease)


def move_the_end(world: World, lease: Lease) -> None:
    world.update(lease, end=world.in_minutes(90))


def move_too_far(world: World, lease: Lease) -> None:
    world.create(name="other", start=65, end=120)
    with pytest.raises(NotEnoughResources):
        world.update(lease, end=world.in_minutes(90))


def be_warned(world: World, lease: Lease) -> None:
    world.advance(51)


def be_warned_in_vain(world: World, lease: Lease) -> None:
    world.advance(51)
    world.update(lease, end=world.in_minutes(90))


def end(world: World, lease: Lease) -> None:
    world.advance(61)


def delete(world: World, lease: Lease) -> None:
    world.delete(lease)
    world.run_due()


def start_and_delete(world: World, lease: Lease) -> None:
    world.advance(11)
    delete(world, lease)


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        (nothing, []),
        (start, [STARTED]),
        (fail_to_start, [("lease.event.start_lease", "ERROR")]),
        (rename, []),
        (change_nothing, []),
        (move_the_end, [("lease.update", "PENDING")]),
        (move_too_far, [CREATED]),
        (be_warned, [STARTED, WARNED]),
        (
            be_warned_in_vain,
            [STARTED, WARNED, ("lease.update", "ACTIVE"), ("lease.event.before_end_lease.stop", "ACTIVE")],
        ),
        (end, [STARTED, WARNED, ("lease.event.end_lease", "TERMINATED")]),
        (delete, [("lease.delete", "DELETING")]),
        (start_and_delete, [STARTED, ("lease.delete", "DELETING")]),
    ],
)
def test_what_is_told_of_a_lease(happens: Callable[[World, Lease], None], expected: Told) -> None:
    world = World(hosts=1)
    world.cloud.before = lambda call: world.clock.pause(0.1)
    lease = world.create(start=10, end=60, warn_at=world.in_minutes(50))
    happens(world, lease)
    assert told(world) == [CREATED, *expected]


def test_a_lease_that_is_refused_is_not_told() -> None:
    world = World(hosts=1)
    with pytest.raises(NotEnoughResources):
        world.create(min=2, max=2)
    assert told(world) == []


@pytest.mark.parametrize("asked", [whole_hosts, instances, servers, floating_ips])
def test_a_notification_has_the_fields_of_the_api(asked):
    world = World(floating_ips=1)
    lease = world.reserve(asked())
    with world.database.read() as uow:
        (told,) = [n.payload for n in uow.outbox.peek(10) if n.event_type == "lease.create"]
    (reservation,) = lease.reservations
    own = world.kinds[reservation.resource_type].render(reservation)
    common = {"id", "lease_id", "resource_id", "resource_type", "status", "created_at", "updated_at"}
    assert set(told["reservations"][0]) == {*own, *common, "missing_resources", "resources_changed"}
    assert told["reservations"][0] | own == told["reservations"][0]
    assert {event["lease_id"] for event in told["events"]} == {lease.id}
    assert told["created_at"] == "2030-01-01T08:00:00.000000"
    assert told["start_date"] == f"{lease.interval.start:%Y-%m-%dT%H:%M:%S.%f}"
    assert told["status"] == "PENDING"


def test_a_notification_tells_why_a_lease_is_in_its_status():
    world = World(hosts=1)
    lease = world.create(end=60)
    world.run_due()
    world.cloud.state.undying.add("stubborn")
    world.cloud.boot("stubborn", "host1")
    world.advance(minutes=60, seconds=2)
    told = payload(world.lease(lease), world.kinds)
    assert told["status"] == "TERMINATING"
    assert told["status_reason"] == world.lease(lease).status_reason
    assert "servers on host host1" in told["status_reason"]


def test_a_notification_and_an_answer_are_one_document():
    world = World(floating_ips=1)
    lease = world.reserve(whole_hosts(), floating_ips())
    world.run_due()
    told, shown = payload(world.lease(lease), world.kinds), lease_view(world.lease(lease), ADMIN, world.kinds)
    assert ["id", *told] == ["id", "lease_id", *list(shown)[1:]]
    assert [list(each) for each in told["reservations"]] == [list(each) for each in shown["reservations"]]
    assert [list(each) for each in told["events"]] == [list(each) for each in shown["events"]]
