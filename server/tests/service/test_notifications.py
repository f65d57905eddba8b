"""What consumers of notifications are told of a lease: what the API's answers tell."""

from __future__ import annotations

import pytest

from blazar.api.views.leases import lease_view
from blazar.service.notifications import payload

from .world import ADMIN, World, floating_ips, instances, servers, whole_hosts


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
    assert told["created_at"] == lease.created_at.replace(tzinfo=None).isoformat()
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
