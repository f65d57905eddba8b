"""The Network port: the cloud in memory, the sandbox and a real Neutron behave the same."""

from __future__ import annotations

import pytest

from blazar.domain.errors import CloudRefused

from .places import Place

TAG = "contract"
"""A tag that no lease sets: stories of the lab may be making floating IPs meanwhile."""
TAGS = (TAG, "reservation:r1")


def create(place: Place, address: str, description: str = "reservation:r1"):
    subnet = place.cloud.network.subnets(place.external)[0]
    return place.cloud.network.create_floating_ip(
        place.external, subnet.id, address, place.project, description
    )


@pytest.mark.parametrize("nonsense", ["", "nope", "..", "a/b", "a?b=c", "ä"])
def test_a_network_is_found_by_its_id_alone(place, nonsense):
    network = place.cloud.network
    assert network.network(place.external).id == place.external
    assert network.network(place.external).is_external
    assert not network.network(place.internal).is_external
    assert network.network(nonsense) is None
    assert network.subnets(nonsense) == []


def test_subnets_tell_which_addresses_neutron_gives_out(place):
    (subnet,) = place.cloud.network.subnets(place.external)
    assert subnet.cidr == "203.0.113.0/24"
    assert subnet.gateway == "203.0.113.1"
    assert all(
        first.startswith("203.0.113.") and last.startswith("203.0.113.") for first, last in subnet.pools
    )


def test_a_floating_ip_comes_and_goes(place):
    network, address = place.cloud.network, place.addresses[0]
    assert network.floating_ip(place.external, address) is None
    assert not network.is_address_used(place.external, address)
    made = create(place, address)
    assert (made.address, made.network_id, made.project_id) == (address, place.external, place.project)
    assert (made.description, made.port_id, made.tags) == ("reservation:r1", None, frozenset())
    assert network.floating_ip(place.external, address) == made
    assert network.floating_ip(place.internal, address) is None
    assert network.is_address_used(place.external, address)
    network.delete_floating_ip(made.id)
    assert network.floating_ip(place.external, address) is None
    assert not network.is_address_used(place.external, address)


def test_one_that_exists_is_taken_as_it_is(place):
    made = create(place, place.addresses[0])
    again = create(place, place.addresses[0], description="reservation:r2")
    assert (again.id, again.description) == (made.id, "reservation:r1")


def test_an_address_that_something_else_has_is_refused(place):
    place.occupy(place.addresses[0])
    assert place.cloud.network.is_address_used(place.external, place.addresses[0])
    assert place.cloud.network.floating_ip(place.external, place.addresses[0]) is None
    with pytest.raises(CloudRefused):
        create(place, place.addresses[0])


@pytest.mark.parametrize("address", ["198.51.100.7", "2001:db8::1"])
def test_an_address_of_another_network_is_refused(place, address):
    with pytest.raises(CloudRefused):
        create(place, address)


def test_they_are_found_by_all_of_their_tags(place):
    network = place.cloud.network
    first, second = (create(place, address) for address in place.addresses)
    network.set_floating_ip_tags(first.id, TAGS)
    network.set_floating_ip_tags(second.id, (TAG, "reservation:r2"))
    assert [f.id for f in network.floating_ips(place.external, TAGS)] == [first.id]
    assert {f.id for f in network.floating_ips(place.external, [TAG])} == {first.id, second.id}
    assert network.floating_ips(place.internal, TAGS) == []
    assert {f.id for f in network.floating_ips(place.external, ())} >= {first.id, second.id}
    assert network.floating_ips(place.internal, ()) == []
    assert network.floating_ip(place.external, first.address).tags == frozenset(TAGS)
    network.set_floating_ip_tags(first.id, ["mine"])
    assert network.floating_ips(place.external, TAGS) == []


def test_it_leads_to_no_port_after_disassociation(place):
    network = place.cloud.network
    made = create(place, place.addresses[0])
    place.bind(made.id)
    assert network.floating_ip(place.external, made.address).port_id is not None
    network.disassociate_floating_ip(made.id)
    assert network.floating_ip(place.external, made.address).port_id is None
    place.bind(made.id)
    network.delete_floating_ip(made.id)
    assert network.floating_ip(place.external, made.address) is None


def test_what_is_gone_can_be_changed_and_deleted_again(place):
    network = place.cloud.network
    made = create(place, place.addresses[0])
    for _ in range(2):
        network.delete_floating_ip(made.id)
    network.disassociate_floating_ip(made.id)
    network.set_floating_ip_tags(made.id, TAGS)
    assert network.floating_ip(place.external, made.address) is None


def test_a_fence_stands_before_each_request(place):
    def fallen() -> None:
        raise CloudRefused(service="fence", reason="fallen")

    network = place.cloud.fenced(fallen).network
    for call in (
        lambda: network.network(place.external),
        lambda: network.subnets(place.external),
        lambda: network.is_address_used(place.external, place.addresses[0]),
        lambda: network.floating_ip(place.external, place.addresses[0]),
        lambda: network.floating_ips(place.external, TAGS),
        lambda: network.create_floating_ip(place.external, "subnet", place.addresses[0], "demo", ""),
        lambda: network.set_floating_ip_tags("id", TAGS),
        lambda: network.disassociate_floating_ip("id"),
        lambda: network.delete_floating_ip("id"),
    ):
        with pytest.raises(CloudRefused, match="fallen"):
            call()
