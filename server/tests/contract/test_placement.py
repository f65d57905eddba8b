"""The Placement port: the cloud in memory, the sandbox and a real Placement behave the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.service.ports import Flavor

from .places import Place, label, until


def class_of(name: str) -> str:
    return f"CUSTOM_{name.upper().replace('-', '_')}"


def slots(place: Place, host: str) -> dict[str, int]:
    provider = place.cloud.placement.provider(f"blazar_{host}")
    return {name: inventory.capacity for name, inventory in provider.inventory.items()} if provider else {}


def test_a_compute_nodes_provider_tells_its_inventory_and_traits(place: Place) -> None:
    provider = place.cloud.placement.provider(place.hosts[0])
    assert {"VCPU", "MEMORY_MB", "DISK_GB"} <= set(provider.inventory)
    assert all(0 < inventory.max_unit <= inventory.capacity for inventory in provider.inventory.values())
    assert "COMPUTE_NODE" in provider.traits


@pytest.mark.parametrize("nonsense", ["nope", "..", "a/b", "a?b=c", "ä"])
def test_what_is_no_provider_is_none(place: Place, nonsense: str) -> None:
    assert place.cloud.placement.provider(nonsense) is None


def test_a_reservation_provider_comes_and_goes(place: Place) -> None:
    placement, host = place.cloud.placement, place.hosts[0]
    placement.remove_reservation_provider(host)
    assert placement.provider(f"blazar_{host}") is None
    for _ in range(2):
        placement.ensure_reservation_provider(host)
    made = placement.provider(f"blazar_{host}")
    assert made.inventory == {}
    assert placement.remove_reservation_provider(host)
    assert not placement.remove_reservation_provider(host)
    assert placement.provider(f"blazar_{host}") is None
    # It is there again, with the same id, before nova-compute notices: it fails boots on a host without it.
    placement.ensure_reservation_provider(host)
    assert placement.provider(f"blazar_{host}") == made


def test_there_is_none_below_a_host_that_is_not_there(place: Place) -> None:
    with pytest.raises(CloudRefused):
        place.cloud.placement.ensure_reservation_provider("nope")
    assert not place.cloud.placement.remove_reservation_provider("nope")


def test_slots_are_set_and_changed_and_removed(place: Place) -> None:
    placement, (host, other), resource_class = place.cloud.placement, place.hosts, class_of(label())
    for _ in range(2):
        placement.ensure_resource_class(resource_class)
    for total in (3, 5, 5, 2):
        placement.set_reserved_slots(host, resource_class, total)
        assert slots(place, host) == {resource_class: total}
    inventory = placement.provider(f"blazar_{host}").inventory[resource_class]
    assert inventory.max_unit == 1
    assert slots(place, other) == {}
    for _ in range(2):
        placement.set_reserved_slots(host, resource_class, 0)
        assert slots(place, host) == {}
    placement.set_reserved_slots(other, resource_class, 0)
    for _ in range(2):
        placement.remove_resource_class(resource_class)


def test_providers_classes_and_totals_are_listed(place: Place) -> None:
    placement, (host, other), resource_class = place.cloud.placement, place.hosts, class_of(label())
    placement.ensure_reservation_provider(host)
    placement.remove_reservation_provider(other)
    assert host in placement.reservation_providers()
    assert other not in placement.reservation_providers()
    assert resource_class not in placement.resource_classes()
    placement.ensure_resource_class(resource_class)
    assert resource_class in placement.resource_classes()
    placement.set_reserved_slots(host, resource_class, 3)
    assert placement.reserved_slots(host) == {resource_class: 3}
    assert placement.reserved_slots(other) == placement.reserved_slots("nope") == {}
    placement.set_reserved_slots(host, resource_class, 0)
    assert placement.reserved_slots(host) == {}
    placement.ensure_reservation_provider(other)


def test_reservations_on_one_host_keep_their_slots_apart(place: Place) -> None:
    placement, host = place.cloud.placement, place.hosts[0]
    one, two = class_of(label()), class_of(label())
    for resource_class, total in ((one, 1), (two, 4)):
        placement.ensure_resource_class(resource_class)
        placement.set_reserved_slots(host, resource_class, total)
    assert slots(place, host) == {one: 1, two: 4}
    placement.set_reserved_slots(host, one, 0)
    assert slots(place, host) == {two: 4}


def test_slots_of_a_class_that_is_not_there_are_refused(place: Place) -> None:
    placement, host, resource_class = place.cloud.placement, place.hosts[0], class_of(label())
    with pytest.raises(CloudRefused):
        placement.set_reserved_slots(host, resource_class, 1)
    placement.set_reserved_slots(host, resource_class, 0)


def test_classes_that_are_made_at_once_are_all_there(place: Place) -> None:
    placement, host = place.cloud.placement, place.hosts[0]
    classes = [class_of(label()) for _ in range(12)]
    with ThreadPoolExecutor(len(classes)) as pool:
        list(pool.map(placement.ensure_resource_class, classes))
    for resource_class in classes:
        placement.set_reserved_slots(host, resource_class, 1)
    assert slots(place, host) == dict.fromkeys(classes, 1)


def test_a_class_stays_while_there_are_slots_of_it(place: Place) -> None:
    placement, host, resource_class = place.cloud.placement, place.hosts[0], class_of(label())
    placement.ensure_resource_class(resource_class)
    placement.set_reserved_slots(host, resource_class, 1)
    with pytest.raises(CloudUnavailable):
        placement.remove_resource_class(resource_class)
    assert slots(place, host) == {resource_class: 1}


def test_no_more_servers_than_slots_and_no_slot_is_taken_from_under_a_server(place: Place) -> None:
    """What a reservation of instances is made of: a class, slots, an aggregate and a private flavor."""
    cloud, host, name = place.cloud, place.hosts[0], label()
    resource_class = class_of(name)
    cloud.placement.ensure_resource_class(resource_class)
    cloud.placement.set_reserved_slots(host, resource_class, 1)
    aggregate = cloud.compute.create_aggregate(name, None, {"reservation": name})
    cloud.compute.add_host(aggregate.id, host)
    specs = {"aggregate_instance_extra_specs:reservation": name, f"resources:{resource_class}": "1"}
    cloud.compute.create_flavor(Flavor(name, f"{name}-flavor", 1, 512, 1, is_public=False, extra_specs=specs))
    cloud.compute.grant_flavor(name, place.project)

    server = place.boot_reserved(f"{name}-1", name)
    assert (server.host, server.project_id) == (host, place.project)
    assert place.boot_reserved(f"{name}-2", name) is None
    with pytest.raises(CloudUnavailable):
        cloud.placement.set_reserved_slots(host, resource_class, 0)
    assert slots(place, host) == {resource_class: 1}

    cloud.compute.delete_server(server.id)
    until("the server gone", lambda: not cloud.compute.servers_on(host))

    def freed() -> bool:
        try:
            cloud.placement.set_reserved_slots(host, resource_class, 0)
        except CloudUnavailable:
            return False
        return True

    until("the slot free", freed)
    cloud.placement.remove_resource_class(resource_class)


def test_a_fence_stands_before_each_request(place: Place) -> None:
    def fallen() -> None:
        raise CloudUnavailable(service="fence", reason="fallen")

    placement, host, resource_class = place.cloud.fenced(fallen).placement, place.hosts[0], class_of(label())
    for call in (
        lambda: placement.provider(host),
        lambda: placement.ensure_reservation_provider(host),
        lambda: placement.remove_reservation_provider(host),
        lambda: placement.reservation_providers(),
        lambda: placement.reserved_slots(host),
        lambda: placement.resource_classes(),
        lambda: placement.ensure_resource_class(resource_class),
        lambda: placement.remove_resource_class(resource_class),
        lambda: placement.set_reserved_slots(host, resource_class, 1),
    ):
        with pytest.raises(CloudUnavailable, match="fallen"):
            call()
