"""A lease is split in one transaction: what goes keeps its ids."""

from __future__ import annotations

from service.world import DEMO, World, instances, whole_hosts

from blazar.domain.lease.lease import LeaseStatus
from blazar.service.commands import SplitLease, SplitReservation
from blazar.service.ports import Database


def test_reservations_and_allocations_go_into_another_lease(database: Database) -> None:
    world = World(database=database)
    lease = world.reserve(whole_hosts(), instances(amount=3), whole_hosts(min=2, max=2), start=60, end=120)
    first, slots, hosts = lease.reservations
    wanted = (SplitReservation(first.id), SplitReservation(slots.id, 2), SplitReservation(hosts.id, 1))
    part = world.leases.split(lease.id, SplitLease("part", wanted), DEMO)
    rest = world.lease(lease)
    assert world.lease(part) == part
    assert [each.id for each in rest.reservations] == [slots.id, hosts.id]
    assert part.reservations[0].id == first.id
    assert len({each.id for each in (*rest.allocations, *part.allocations)}) == 5
    both = sorted((each.resource_id, each.slots) for each in (*rest.allocations, *part.allocations))
    amounts: dict[str, int] = {}
    for resource_id, number in both:
        amounts[resource_id] = amounts.get(resource_id, 0) + number
    assert sorted(amounts.items()) == sorted((each.resource_id, each.slots) for each in lease.allocations)
    world.advance(minutes=60)
    assert [world.lease(each).status for each in (lease, part)] == [LeaseStatus.ACTIVE] * 2
