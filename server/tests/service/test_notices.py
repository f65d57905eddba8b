"""What consumers of notifications are told of a lease: what the API's answers tell."""

from __future__ import annotations

import pytest

from .world import World, floating_ips, instances, servers, whole_hosts


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
