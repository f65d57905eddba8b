"""The Network port about networks on segments: the cloud in memory and the sandbox behave the same.

The lab's Neutron has no physical network with VLANs, and its service's user may make no networks."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from blazar.domain.errors import CloudRefused
from blazar.service.ports import CloudNetwork, NetworkPort, Segment

from .places import Place

pytestmark = pytest.mark.parametrize("place", ["memory", "sandbox"], indirect=True)
VLAN, TUNNEL = Segment("vlan", "physnet1", 3901), Segment("vxlan", None, 3901)


@pytest.fixture(params=[VLAN, TUNNEL], ids=["vlan", "tunnel"])
def segment(request: pytest.FixtureRequest, place: Place) -> Iterator[Segment]:
    yield request.param
    for found in on(place, request.param):
        place.cloud.network.delete_network(found.id)


def on(place: Place, segment: Segment) -> list[CloudNetwork]:
    network = place.cloud.network
    return list(network.networks_on(segment.network_type, segment.physical_network, segment.segmentation_id))


def create(place: Place, segment: Segment) -> CloudNetwork:
    return place.cloud.network.create_network(segment, "lab", place.project, "reservation:r1")


def test_a_network_comes_and_goes(place: Place, segment: Segment) -> None:
    network = place.cloud.network
    assert on(place, segment) == []
    made = create(place, segment)
    assert (made.name, made.project_id, made.segment, made.is_external) == (
        "lab",
        place.project,
        segment,
        False,
    )
    assert (made.description, made.tags) == ("reservation:r1", frozenset())
    network.set_network_tags(made.id, ["blazar", "reservation:r1"])
    (found,) = on(place, segment)
    assert (found.id, found.tags) == (made.id, {"blazar", "reservation:r1"})
    assert network.network(made.id) == found
    everywhere = network.networks_on(segment.network_type, segment.physical_network)
    assert made.id in [each.id for each in everywhere]
    assert network.networks_on(segment.network_type, "another") == []
    network.delete_network(made.id)
    assert on(place, segment) == []


def test_a_segment_has_one_network(place: Place, segment: Segment) -> None:
    made = create(place, segment)
    with pytest.raises(CloudRefused, match="in use"):
        create(place, segment)
    assert [each.id for each in on(place, segment)] == [made.id]


def test_a_network_is_emptied_before_it_is_deleted(place: Place, segment: Segment) -> None:
    network, made = place.cloud.network, create(place, segment)
    port_id = place.attach(made.id)
    with pytest.raises(CloudRefused):
        network.delete_network(made.id)
    ports = {each.id: each for each in network.ports(made.id)}
    assert ports.pop(port_id).owner == ""
    (interface,) = (each for each in ports.values() if each.owner == "network:router_interface")
    with pytest.raises(CloudRefused):
        network.delete_port(interface.id)
    for _ in range(2):
        network.delete_port(port_id)
        network.remove_router_interface(interface)
    network.delete_network(made.id)
    assert network.network(made.id) is None
    assert network.ports(made.id) == []


def test_what_is_gone_can_be_changed_and_deleted_again(place: Place) -> None:
    network, gone = place.cloud.network, str(uuid4())
    assert network.ports(gone) == []
    network.set_network_tags(gone, ["a"])
    network.delete_port(gone)
    network.remove_router_interface(NetworkPort(gone, gone, "network:router_interface", gone))
    network.delete_network(gone)


def test_a_fence_stands_before_each_request(place: Place) -> None:
    def fallen() -> None:
        raise CloudRefused(service="fence", reason="fallen")

    network = place.cloud.fenced(fallen).network
    for call in (
        lambda: network.networks_on("vlan", "physnet1"),
        lambda: network.create_network(VLAN, "lab", "demo", ""),
        lambda: network.set_network_tags("id", ["a"]),
        lambda: network.ports("id"),
        lambda: network.delete_port("id"),
        lambda: network.remove_router_interface(NetworkPort("id", "id")),
        lambda: network.delete_network("id"),
    ):
        with pytest.raises(CloudRefused, match="fallen"):
            call()
