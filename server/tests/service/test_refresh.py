"""What Nova and Placement tell of registered hosts is kept up, and leases are told what they lose by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blazar.domain.errors import CloudRefused
from blazar.domain.lease.healing import UNSUITABLE
from blazar.domain.lease.lease import Lease
from blazar.domain.resource import Inventory, Registration
from blazar.kinds.registered_hosts import monitor
from blazar.service.ports import Flavor

from .failures import WHOLE, fail, flags
from .world import DEMO, World, instances, servers

LARGE = '[">=", "$vcpus", "8"]'


def change(world: World, host_id: str, **facts: Any) -> None:
    """Nova tells something else of a host."""
    known = world.cloud.state.hypervisors[f"host{host_id}"]
    world.cloud.state.hypervisors[f"host{host_id}"] = replace(known, facts={**known.facts, **facts})


def resize(world: World, host_id: str, vcpus: int, *traits: str) -> None:
    """Placement tells another inventory and other traits of a host."""
    sizes = {"VCPU": vcpus, "MEMORY_MB": 16384, "DISK_GB": 100}
    world.cloud.set_provider(f"host{host_id}", sizes, traits)


def host(world: World, host_id: str) -> Registration:
    return world.hosts.get(host_id, DEMO)


def reason(world: World, lease: Lease) -> str | None:
    return world.lease(lease).reservations[0].status_reason


def test_facts_traits_and_inventory_are_kept_up() -> None:
    world = World(hosts=2)
    change(world, "1", vcpus=16, hypervisor_version=9)
    resize(world, "2", 4, "CUSTOM_NEW")
    world.look()
    assert (host(world, "1").facts["vcpus"], host(world, "1").facts["hypervisor_version"]) == (16, 9)
    assert host(world, "2").inventory["VCPU"] == Inventory(4, 4)
    assert "CUSTOM_NEW" in host(world, "2").traits
    assert host(world, "2").facts["vcpus"] == 8


def test_a_host_that_has_not_changed_is_not_written() -> None:
    world = World(hosts=2)
    world.create(end=600)
    world.run_due()
    before = world.hosts.list(DEMO)
    world.look()
    assert world.hosts.list(DEMO) == before


def test_the_zone_is_that_of_the_registration() -> None:
    """A reservation puts its hosts into a zone of its own, for as long as it is active."""
    world = World(hosts=1)
    world.create(end=600)
    world.run_due()
    world.look()
    assert host(world, "1").facts["availability_zone"] == "nova"


@pytest.mark.parametrize("says", [{"vcpus": 0, "memory_mb": 0}, {"vcpus": None}])
def test_a_host_without_a_size_says_nothing(says: dict[str, Any]) -> None:
    world = World(hosts=1)
    change(world, "1", **says)
    world.look()
    assert host(world, "1").facts["vcpus"] == 8


def test_a_host_that_is_down_says_nothing() -> None:
    world = World(hosts=1)
    change(world, "1", vcpus=3)
    resize(world, "1", 3)
    fail(world, "1")
    world.look()
    assert host(world, "1").facts["vcpus"] == 8
    assert host(world, "1").inventory["VCPU"] == Inventory(8, 8)


def test_cpu_info_that_is_only_spelled_differently_stays() -> None:
    world = World(hosts=1)
    change(world, "1", cpu_info='{"model":"A","cores":4}')
    world.look()
    change(world, "1", cpu_info='{ "cores": 4, "model": "A" }')
    before = host(world, "1")
    world.look()
    assert host(world, "1") == before


def test_hosts_take_turns_to_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "REFRESHED_AT_ONCE", 2)
    world = World(hosts=5)
    asked = []
    for _ in range(4):
        before = world.cloud.calls.count("provider")
        world.look()
        asked.append(world.cloud.calls.count("provider") - before)
    assert asked == [2, 2, 1, 2]


def test_where_very_many_hosts_change_some_are_stored_at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "STORED_AT_ONCE", 2)
    world = World(hosts=5)
    for number in "12345":
        change(world, number, vcpus=16)
    stored = []
    for _ in range(3):
        world.look()
        stored.append({number for number in "12345" if host(world, number).facts["vcpus"] == 16})
    assert stored == [{"1", "2"}, {"1", "2", "3", "4"}, {"1", "2", "3", "4", "5"}]


def test_hosts_that_change_all_the_time_keep_no_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "STORED_AT_ONCE", 2)
    world = World(hosts=5)
    for look in range(3):
        for number in "123":
            change(world, number, hypervisor_version=look)
        change(world, "5", vcpus=16)
        world.look()
    assert host(world, "5").facts["vcpus"] == 16


def test_a_failure_is_stored_at_once_however_many_hosts_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "STORED_AT_ONCE", 2)
    world = World(hosts=5)
    for number in "1234":
        change(world, number, vcpus=16)
    fail(world, "5")
    world.look()
    assert host(world, "5").failure is not None
    assert [number for number in "1234" if host(world, number).facts["vcpus"] == 16] == ["1", "2"]


def test_a_pending_reservation_leaves_a_host_that_no_longer_suits() -> None:
    world = World(hosts=2)
    lease = world.create(start=600, end=660, hypervisor_properties=LARGE)
    assert world.hosts_of(lease) == {"1"}
    change(world, "1", vcpus=4)
    world.look()
    assert world.hosts_of(lease) == {"2"}
    assert flags(world, lease) == WHOLE


def test_a_pending_reservation_without_another_host_is_told_until_there_is_one() -> None:
    world = World(hosts=1)
    lease = world.create(start=600, end=660, hypervisor_properties=LARGE)
    change(world, "1", vcpus=4)
    world.look()
    assert flags(world, lease) == (True, [True], [False])
    assert reason(world, lease) == UNSUITABLE
    world.look()
    assert flags(world, lease)[0]
    change(world, "1", vcpus=8)
    world.look()
    assert flags(world, lease) == WHOLE
    assert reason(world, lease) is None
    assert world.hosts_of(lease) == {"1"}


def test_an_active_reservation_stays_and_is_told() -> None:
    world = World(hosts=2)
    lease = world.create(end=600, hypervisor_properties=LARGE)
    world.run_due()
    change(world, "1", vcpus=4)
    for _ in range(10):
        world.look()
    assert world.hosts_of(lease) == {"1"}
    assert flags(world, lease) == (True, [True], [False])
    assert world.reconcile_all() == 1
    assert reason(world, lease) == UNSUITABLE, "the cloud has nothing to say to this"


def test_what_the_cloud_refuses_hides_no_host_that_does_not_suit() -> None:
    world = World(hosts=2)
    lease = world.create(end=600, hypervisor_properties=LARGE)
    world.run_due()
    change(world, "1", vcpus=4)
    world.look()

    def refuse(call: str) -> None:
        raise CloudRefused(service="Nova", reason="not now")

    world.cloud.before = refuse
    assert world.reconcile_all() == 1
    assert reason(world, lease) == UNSUITABLE
    assert "not now" in str(world.lease(lease).status_reason)
    world.cloud.before = lambda call: None
    assert world.reconcile_all() == 1
    assert (reason(world, lease), world.lease(lease).status_reason) == (UNSUITABLE, None)
    assert flags(world, lease) == (True, [True], [False])


def test_of_what_a_smaller_host_has_promised_too_much_goes_elsewhere() -> None:
    world = World(hosts=2)
    leases = [world.reserve(instances(vcpus=4), name=str(n), start=60 + n, end=120) for n in range(2)]
    assert [world.hosts_of(lease) for lease in leases] == [{"1"}, {"1"}]
    resize(world, "1", 4)
    for _ in range(3):
        world.look()
    assert sorted(only for lease in leases for only in world.hosts_of(lease)) == ["1", "2"]
    assert all(flags(world, lease) == WHOLE for lease in leases)


def test_a_trait_that_is_gone_is_missed() -> None:
    world = World(hosts=2)
    resize(world, "1", 8, "CUSTOM_FAST")
    resize(world, "2", 8, "CUSTOM_FAST")
    world.look()
    world.cloud.add_flavor(
        Flavor("fast", "m1.fast", 1, 512, 1, extra_specs={"trait:CUSTOM_FAST": "required"})
    )
    lease = world.reserve(servers(flavor_id="fast"), start=60, end=120)
    (before,) = world.hosts_of(lease)
    resize(world, before, 8)
    for _ in range(2):
        world.look()
    assert world.hosts_of(lease) == {"1", "2"} - {before}
    assert flags(world, lease) == WHOLE


def test_a_property_that_no_reservation_asks_for_disturbs_none() -> None:
    world = World(hosts=2)
    lease = world.create(start=600, end=660)
    stored = world.lease(lease)
    change(world, "1", vcpus=4)
    world.look()
    assert world.lease(lease) == stored
