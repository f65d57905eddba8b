"""Floating IPs in our care: which addresses operators can register, and when they can give them up."""

from __future__ import annotations

import pytest

from blazar.domain.errors import CloudUnavailable, InvalidIPFormat
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.resource import Pool
from blazar.kinds.floatingip.errors import (
    CantDeleteFloatingIP,
    FloatingIPAlreadyRegistered,
    FloatingIPInUse,
    FloatingIPNetworkNotExternal,
    FloatingIPNetworkNotFound,
    FloatingIPNotFound,
    FloatingIPSubnetNotFound,
    NeutronUsesFloatingIP,
)
from blazar.service.ports import Subnet

from .world import PUBLIC, World, address, floating_ips


@pytest.fixture
def world() -> World:
    return World(hosts=1)


def registered(world):
    return [each.facts["floating_ip_address"] for each in world.floatingips.list()]


def test_an_address_outside_the_pools_can_be_registered(world):
    made = world.register_floating_ip("203.0.113.120")
    assert made.pool is Pool("floatingip")
    assert made.facts == {
        "floating_network_id": PUBLIC,
        "subnet_id": "subnet",
        "floating_ip_address": "203.0.113.120",
    }
    assert made.reservable
    assert made.created_at == world.clock.now()
    assert world.floatingips.get(made.id) == made
    assert not world.cloud.state.floating_ips


def test_they_are_listed_by_network_and_number(world):
    world.cloud.add_network("other", Subnet("subnet2", "203.0.113.0/24", None, ()))
    for text in ("203.0.113.200", "203.0.113.9", "203.0.113.100"):
        world.register_floating_ip(text)
    world.register_floating_ip("203.0.113.1", "other")
    assert registered(world) == ["203.0.113.1", "203.0.113.9", "203.0.113.100", "203.0.113.200"]


@pytest.mark.parametrize("text", ["203.0.113.10", "203.0.113.55", "203.0.113.99", "203.0.113.1"])
def test_what_neutron_gives_out_or_needs_itself_is_refused(world, text):
    with pytest.raises(NeutronUsesFloatingIP, match=text):
        world.register_floating_ip(text)
    assert not registered(world)


@pytest.mark.parametrize("text", ["203.0.113.2", "203.0.113.9", "203.0.113.100", "203.0.113.254"])
def test_what_lies_next_to_these_can_be_registered(world, text):
    world.register_floating_ip(text)
    assert registered(world) == [text]


@pytest.mark.parametrize("text", ["198.51.100.7", "2001:db8::1", "203.0.113.0", "203.0.113.255"])
def test_an_address_that_no_machine_could_have_there_is_refused(world, text):
    with pytest.raises(FloatingIPSubnetNotFound, match=text):
        world.register_floating_ip(text)


@pytest.mark.parametrize(
    "text", ["", "nope", "203.0.113", "203.0.113.256", "203.0.113.5/24", "fe80::1%eth0", "1" * 500]
)
def test_what_is_no_address_is_refused(world, text):
    with pytest.raises(InvalidIPFormat):
        world.register_floating_ip(text)


def test_a_network_must_be_there_and_external(world):
    world.cloud.add_network("inside", Subnet("subnet2", "10.0.0.0/16", None, ()), is_external=False)
    with pytest.raises(FloatingIPNetworkNotFound, match="Failed to find network nope"):
        world.register_floating_ip(address(1), "nope")
    with pytest.raises(FloatingIPNetworkNotExternal, match="inside"):
        world.register_floating_ip("10.0.0.5", "inside")


def test_a_subnet_needs_no_gateway(world):
    world.cloud.add_network(
        "flat", Subnet("subnet2", "198.51.100.0/28", None, (("198.51.100.8", "198.51.100.14"),))
    )
    assert world.register_floating_ip("198.51.100.1", "flat").facts["subnet_id"] == "subnet2"


def test_ipv6_is_known_by_one_spelling(world):
    world.cloud.add_network(
        "six", Subnet("subnet6", "2001:db8::/64", "2001:db8::1", (("2001:db8::10", "2001:db8::ff"),))
    )
    world.register_floating_ip("2001:0DB8:0::2", "six")
    assert registered(world) == ["2001:db8::2"]
    with pytest.raises(FloatingIPAlreadyRegistered, match="2001:db8::2"):
        world.register_floating_ip("2001:db8:0:0::2", "six")
    with pytest.raises(NeutronUsesFloatingIP):
        world.register_floating_ip("2001:db8::0020", "six")


def test_the_subnet_that_has_the_address_is_found_among_several(world):
    subnets = [Subnet(f"subnet{n}", f"198.51.{n}.0/24", f"198.51.{n}.1", ()) for n in range(3)]
    world.cloud.add_network("many", *subnets)
    assert world.register_floating_ip("198.51.1.7", "many").facts["subnet_id"] == "subnet1"


def test_what_somebody_uses_in_neutron_is_refused(world):
    world.cloud.state.used_addresses.add((PUBLIC, address(1)))
    world.cloud.network.create_floating_ip(PUBLIC, "subnet", address(2), "alt", "mine")
    for number in (1, 2):
        with pytest.raises(FloatingIPInUse, match=address(number)):
            world.register_floating_ip(address(number))
    assert not registered(world)


def test_an_address_is_registered_once(world):
    first = world.register_floating_ip(address(1))
    with pytest.raises(
        FloatingIPAlreadyRegistered, match=f"{address(1)} on network {PUBLIC} is already registered"
    ):
        world.register_floating_ip(address(1))
    assert world.floatingips.list() == [first]


def test_a_registered_address_that_is_reserved_just_now_is_told_so_too(world):
    world.register_floating_ip(address(1))
    world.reserve(floating_ips())
    world.run_due()
    with pytest.raises(FloatingIPAlreadyRegistered):
        world.register_floating_ip(address(1))


def test_of_two_who_register_at_once_one_is_told(world):
    def meanwhile(call: str) -> None:
        if call == "is_address_used":
            world.cloud.before = lambda call: None
            world.register_floating_ip(address(1))

    world.cloud.before = meanwhile
    with pytest.raises(FloatingIPAlreadyRegistered):
        world.register_floating_ip(address(1))
    assert registered(world) == [address(1)]


def test_a_neutron_that_is_away_is_told(world):
    def down(call: str) -> None:
        raise CloudUnavailable(service="Neutron", reason="503")

    world.cloud.before = down
    with pytest.raises(CloudUnavailable):
        world.register_floating_ip(address(1))
    world.cloud.before = lambda call: None
    world.register_floating_ip(address(1))


class TestGivingUp:
    @pytest.fixture
    def world(self) -> World:
        return World(hosts=1, floating_ips=1)

    def given_up(self, world):
        (known,) = world.floatingips.list()
        world.floatingips.unregister(known.id)
        return world.floatingips.list() == []

    def refused(self, world):
        with pytest.raises(CantDeleteFloatingIP, match="The floating IP is reserved"):
            self.given_up(world)
        return True

    def test_one_that_nobody_reserved(self, world):
        (known,) = world.floatingips.list()
        assert self.given_up(world)
        with pytest.raises(FloatingIPNotFound, match=f"Floating IP {known.id} not found."):
            world.floatingips.unregister(known.id)
        with pytest.raises(FloatingIPNotFound):
            world.floatingips.get(known.id)
        world.register_floating_ip(address(1))

    def test_a_host_is_no_floating_ip(self, world):
        with pytest.raises(FloatingIPNotFound):
            world.floatingips.get("1")
        with pytest.raises(FloatingIPNotFound):
            world.floatingips.unregister("1")

    def test_not_while_it_is_reserved_now_or_later(self, world):
        lease = world.reserve(floating_ips(), start=10, end=60)
        assert self.refused(world)
        world.advance(minutes=11)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert self.refused(world)

    def test_as_soon_as_the_lease_is_over(self, world):
        lease = world.reserve(floating_ips(), end=60)
        world.advance(minutes=61)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert self.given_up(world)

    def test_as_soon_as_the_lease_is_deleted(self, world):
        lease = world.reserve(floating_ips(), start=10, end=60)
        world.delete(lease)
        assert self.given_up(world)

    def test_nobody_can_reserve_it_any_more(self, world):
        world.reserve(floating_ips(), start=10, end=60)  # the calendar is in memory by now
        second = world.register_floating_ip(address(2))
        world.floatingips.unregister(second.id)
        with pytest.raises(Exception, match="Not enough floating IPs available"):
            world.reserve(floating_ips(), start=10, end=60)
