"""What requests do when their time is over in the middle of their work in the cloud."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.errors import TooLate
from blazar.kinds.floatingip.commands import RegisterFloatingIP
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.service.commands import ReservationRequest

from .world import DEMO, PUBLIC, World

PATIENCE = timedelta(seconds=9)
AFFINE = ReservationRequest("flavor:instance", {"flavor_id": "small", "amount": 1, "affinity": True})


@pytest.fixture
def world() -> World:
    return World(hosts=1, floating_ips=0)


def in_time(world):
    return replace(DEMO, deadline=world.clock.now() + PATIENCE)


def hanging_at(world, call):
    """The call is answered after the deadline."""

    def before(name: str) -> None:
        if name == call:
            world.clock.pause(PATIENCE.total_seconds() + 1)

    world.cloud.before = before


def test_a_host_is_not_registered_by_halves(world):
    world.cloud.add_hypervisor("2", "host2")
    hanging_at(world, "ensure_reservation_provider")
    with pytest.raises(TooLate):
        world.hosts.register(RegisterHost("host2", {}), in_time(world))
    assert "remove_host" in world.cloud.calls
    assert "host2" not in world.cloud.hosts_in(FREEPOOL)
    world.cloud.before = lambda call: None
    assert world.hosts.register(RegisterHost("host2", {}), in_time(world)).name == "host2"


def test_a_host_stays_reservable_where_it_cannot_be_given_back_in_time(world):
    (host,) = world.hosts.list(DEMO)
    hanging_at(world, "servers_on")
    with pytest.raises(TooLate):
        world.hosts.unregister(host.id, in_time(world))
    assert world.hosts.get(host.id, DEMO).reservable
    assert "host1" in world.cloud.hosts_in(FREEPOOL)


def test_an_address_is_not_looked_up_after_the_deadline(world):
    hanging_at(world, "network")
    with pytest.raises(TooLate):
        world.floatingips.register(RegisterFloatingIP(PUBLIC, "203.0.113.150"), in_time(world))
    assert not world.floatingips.list()


def test_a_lease_whose_group_is_made_too_late_leaves_nothing(world):
    hanging_at(world, "create_server_group")
    with pytest.raises(TooLate):
        world.reserve(AFFINE, caller=in_time(world))
    world.run_due()
    assert not world.cloud.state.groups
    assert not world.leases.list(None)
