"""Is every difference between database and cloud found, and repaired without touching anything else?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from blazar.adapters.memory.cloud import FREEPOOL
from blazar.domain.errors import CloudUnavailable
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.engine.convergence import BUSY
from blazar.kinds.host import HostKind
from blazar.service.commands import ReservationChange
from blazar.service.ports import Flavor, Look
from blazar.service.ports.kind import Kind, Work
from blazar.service.reconciliation import (
    AFTER_OTHERS,
    FEW,
    HELD_BACK,
    MOST_FAILURES,
    NOTHING,
)

from .compared import GRACE, KINDS, WEB, Compared
from .world import CLAIM, PUBLIC, address, floating_ips, instances, whole_hosts


@pytest.fixture
def world() -> Compared:
    return Compared()


def test_nothing_differs_where_all_is_well(world: Compared) -> None:
    world.active("host", "instances", "floating IP")
    world.reserve(instances(affinity=True), start=600, end=660)
    ended = world.active("host")
    world.delete(ended)
    world.run_due()
    assert list(world.compare()) == []
    before = world.contents()
    assert list(world.repair()) == []
    assert world.contents() == before


class Walked(list[Any]):
    """A list that counts how often it is walked through."""

    walks = 0

    def __iter__(self) -> Iterator[Any]:
        self.walks += 1
        return super().__iter__()

    def __reversed__(self) -> Iterator[Any]:
        self.walks += 1
        return super().__reversed__()


def test_what_the_cloud_has_is_walked_through_once_for_all_leases(world: Compared) -> None:
    leases = [world.active("host", "instances"), world.active("instances")]
    look = Look(world.cloud, world.database)
    aggregates = Walked(world.cloud.compute.aggregates())
    look.once("aggregates", lambda: aggregates)
    for lease in leases:
        for reservation in lease.reservations:
            kind = world.kinds[reservation.resource_type]
            occupied = {a.resource_id for a in reservation.allocations}
            resources = {r.id: r for r in look.registered(kind.pool) if r.id in occupied}
            assert list(kind.differences(Work(lease, reservation, resources), look)) == []
    assert aggregates.walks == 1


# what active leases lack


def without_aggregate(world: Compared, lease: Lease) -> None:
    aggregate = world.aggregate_of(lease)
    del world.cloud.state.aggregates[aggregate.id]


def without_hosts(world: Compared, lease: Lease) -> None:
    world.put(replace(world.aggregate_of(lease), hosts=()))


def without_metadata(world: Compared, lease: Lease) -> None:
    world.put(replace(world.aggregate_of(lease), metadata={}))


def with_another_host(world: Compared, lease: Lease) -> None:
    aggregate = world.aggregate_of(lease)
    free = sorted(world.in_freepool() - set(aggregate.hosts))[0]
    freepool = next(a for a in world.cloud.state.aggregates.values() if a.name == FREEPOOL)
    if aggregate.availability_zone:
        world.put(replace(freepool, hosts=tuple(sorted(set(freepool.hosts) - {free}))))
    world.put(replace(aggregate, hosts=(*aggregate.hosts, free)))


def in_freepool_as_well(world: Compared, lease: Lease) -> None:
    freepool = next(a for a in world.cloud.state.aggregates.values() if a.name == FREEPOOL)
    world.put(replace(freepool, hosts=(*freepool.hosts, *world.aggregate_of(lease).hosts)))


def without_flavor(world: Compared, lease: Lease) -> None:
    del world.cloud.state.flavors[lease.reservations[0].id]


def without_extra_specs(world: Compared, lease: Lease) -> None:
    flavor = world.cloud.state.flavors[lease.reservations[0].id]
    world.cloud.state.flavors[flavor.id] = replace(flavor, extra_specs={})


def without_access(world: Compared, lease: Lease) -> None:
    world.cloud.state.access[lease.reservations[0].id].clear()


def without_inventories(world: Compared, lease: Lease) -> None:
    world.cloud.state.slots.clear()


def with_other_totals(world: Compared, lease: Lease) -> None:
    slots = world.cloud.state.slots
    slots.update(dict.fromkeys(list(slots)[:1], 7))


def without_class(world: Compared, lease: Lease) -> None:
    world.cloud.state.slots.clear()
    world.cloud.state.classes.clear()


def without_floating_ip(world: Compared, lease: Lease) -> None:
    world.cloud.state.floating_ips.clear()


def without_tags(world: Compared, lease: Lease) -> None:
    (found,) = world.cloud.state.floating_ips.values()
    world.cloud.state.floating_ips[found.id] = replace(found, tags=frozenset({"mine"}))


LACKING: list[tuple[str, Callable[[Compared, Lease], None], list[str]]] = [
    ("host", without_aggregate, ["aggregate"]),
    ("host", without_hosts, ["aggregate"]),
    ("host", without_metadata, ["metadata"]),
    ("host", with_another_host, ["aggregate"]),
    ("host", in_freepool_as_well, ["freepool"]),
    ("instances", without_aggregate, ["aggregate"]),
    ("instances", without_hosts, ["aggregate"]),
    ("instances", without_metadata, ["metadata"]),
    ("instances", with_another_host, ["aggregate"]),
    ("instances", without_flavor, ["flavor"]),
    ("instances", without_extra_specs, ["extra specs"]),
    ("instances", without_access, ["access"]),
    ("instances", without_inventories, ["inventory", "inventory"]),
    ("instances", with_other_totals, ["inventory"]),
    ("instances", without_class, ["inventory", "inventory", "resource class"]),
    ("server", without_aggregate, ["aggregate"]),
    ("server", without_hosts, ["aggregate"]),
    ("server", without_metadata, ["metadata"]),
    ("server", with_another_host, ["aggregate"]),
    ("floating IP", without_floating_ip, ["floating IP"]),
    ("floating IP", without_tags, ["tags"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "harm", "sorts"), LACKING, ids=[f"{kind}: {harm.__name__}" for kind, harm, _ in LACKING]
)
def test_what_an_active_lease_lacks_is_found_and_repaired(
    world: Compared, kind: str, harm: Callable[[Compared, Lease], None], sorts: list[str]
) -> None:
    lease, other = world.active(kind), world.active("host")
    whole = world.contents()
    harm(world, lease)
    harmed = world.contents()
    found = world.compare()
    assert [finding.difference.sort for finding in found] == sorts
    owner = (lease.id, lease.reservations[0].id)
    assert {(f.difference.lease_id, f.difference.reservation_id) for f in found} == {owner}
    assert world.contents() == harmed
    assert other.id not in str(found)

    repaired = world.repair()
    assert [finding.difference for finding in repaired] == [finding.difference for finding in found]
    assert all(finding.is_repaired for finding in repaired)
    assert world.converged == [lease.id]
    if harm is not without_tags:  # the user's own tags stay
        assert world.contents() == whole
    assert list(world.compare()) == []
    assert not world.lease(lease).degraded


def test_a_floating_ip_of_another_project_is_found_and_left(world: Compared) -> None:
    lease = world.active("floating IP")
    (found,) = world.cloud.state.floating_ips.values()
    world.cloud.state.floating_ips[found.id] = replace(found, project_id="alt", id="theirs")
    before = world.contents()
    (left,) = world.repair()
    assert (left.difference.sort, left.is_repaired) == ("floating IP", False)
    assert left.difference.lease_id == lease.id
    assert "alt" in left.sentence
    assert world.contents() == before


def test_what_only_people_can_repair_is_told_with_what_to_do(world: Compared) -> None:
    lease = world.reserve(instances(amount=2, affinity=False, before_end="snapshot"))
    world.run_due()
    world.cloud.state.groups.clear()
    world.cloud.state.trusts.clear()
    flavor = world.cloud.state.flavors[lease.reservations[0].id]
    world.cloud.state.flavors[flavor.id] = replace(flavor, vcpus=64)
    found = world.repair()
    assert [finding.difference.sort for finding in found] == ["flavor", "server group", "trust"]
    assert not any(finding.is_repaired for finding in found)
    assert all(finding.reason == finding.difference.advice != "" for finding in found)
    assert world.converged == []


def test_a_zone_that_is_wrong_is_left_to_people(world: Compared) -> None:
    lease = world.active("host")
    world.put(replace(world.aggregate_of(lease), availability_zone="nova"))
    sorts = {finding.difference.sort: finding for finding in world.repair()}
    assert not sorts["zone"].is_repaired


def test_a_lease_on_which_another_manager_works_is_left_to_it(world: Compared) -> None:
    lease = world.active("host")
    without_aggregate(world, lease)
    found = world.compare()
    now = world.clock.now()
    assert world.database.transact(lambda u: u.events.claim_lease(lease.id, "other", now, now + CLAIM, now))
    (left,) = world.repair()
    assert (left.difference, left.reason) == (found[0].difference, BUSY)
    world.clock.pause(CLAIM.total_seconds() + 1)
    (repaired,) = world.repair()
    assert repaired.is_repaired


def test_what_goes_on_is_not_called_repaired(world: Compared) -> None:
    lease = world.active("host")
    with_another_host(world, lease)
    (another,) = set(world.aggregate_of(lease).hosts) - {
        str(each.facts["service_name"]) for each in registered(world) if each.id in world.hosts_of(lease)
    }
    world.cloud.boot("stubborn", another)
    world.cloud.state.undying.add("stubborn")
    (left,) = world.repair()
    assert not left.is_repaired
    assert "stubborn" not in world.cloud.hosts_in(FREEPOOL)
    assert left.reason.startswith("the managers go on with it")


def registered(world: Compared) -> Sequence[Any]:
    with world.database.read() as uow:
        return uow.resources.list(world.kinds["physical:host"].pool)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_lease_that_ends_while_the_cloud_is_looked_at_does_not_count(world: Compared, kind: str) -> None:
    """At whichever request it ends, and whatever the comparison has seen by then."""
    world.active("host", "instances")
    for number in range(100):
        lease = world.active(kind)
        left = [number]

        def end(call: str, left: list[int] = left, lease: Lease = lease) -> None:
            left[0] -= 1
            if left[0] < 0:
                world.cloud.before = lambda _: None
                world.delete(lease)
                world.run_due()

        world.cloud.before = end
        assert list(world.compare()) == [], number
        if left[0] >= 0:
            return
        world.advance(seconds=10)  # a server takes some steps to its end
    raise AssertionError("the comparison asks for too much")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_lease_that_starts_while_the_cloud_is_looked_at_does_not_count(world: Compared, kind: str) -> None:
    """At whichever request it starts, and whatever the comparison has seen by then."""
    world.active("host", "instances", "floating IP")
    before = len(world.cloud.calls)
    assert list(world.compare()) == []
    requests = len(world.cloud.calls) - before
    for number in range(requests):
        lease = world.reserve(KINDS[kind]())
        left = [number]

        def start(call: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                world.cloud.before = lambda _: None
                world.run_due()

        world.cloud.before = start
        found = world.compare()
        world.cloud.before = lambda _: None
        assert list(found) == [], number
        world.run_due()
        world.delete(lease)
        world.run_due()


def test_a_lease_that_an_update_has_changed_does_not_count_before_the_engine_is_done(world: Compared) -> None:
    lease = world.active("instances")
    request = ReservationChange(lease.reservations[0].id, {"amount": 3})
    world.update(lease, reservations=(request,))
    assert list(world.compare()) == []
    world.run_due()
    assert list(world.compare()) == []
    assert len(world.aggregate_of(lease).hosts) == 3


def test_a_lease_whose_end_has_begun_keeps_what_it_has(world: Compared) -> None:
    lease = world.active("host")
    world.cloud.boot("stubborn", world.aggregate_of(lease).hosts[0])
    world.cloud.state.undying.add("stubborn")
    world.delete(lease)
    world.advance(seconds=3)
    assert world.lease(lease).status is LeaseStatus.DELETING
    world.new_process()
    before = world.contents()
    assert list(world.repair(waits=True)) == []
    assert world.contents() == before


# what no lease has


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_lease_has_is_removed_after_a_while(world: Compared, kind: str) -> None:
    empty = world.contents()
    lease, kept = world.active(kind), world.active("host", "instances")
    world.forget(lease)
    world.cloud.compute.shelve_server(WEB)
    before = world.contents()
    found = world.compare()
    assert found
    assert {finding.difference.expected for finding in found} == {NOTHING}
    assert {finding.difference.reservation_id for finding in found} == {lease.reservations[0].id}
    assert not any(finding.is_repaired for finding in world.repair())
    assert world.contents() == before

    world.advance(minutes=4)
    world.repair()
    assert world.contents() == before
    world.advance(minutes=2)
    repaired = world.repair()
    assert [finding.difference for finding in repaired] == [finding.difference for finding in found]
    assert all(finding.is_repaired for finding in repaired)
    assert list(world.compare()) == []
    world.delete(kept)
    world.run_due()
    assert world.contents() == empty


def test_one_call_can_wait(world: Compared) -> None:
    lease = world.active("instances")
    world.forget(lease)
    began = world.clock.now()
    assert all(finding.is_repaired for finding in world.repair(waits=True))
    assert timedelta(0) <= world.clock.now() - began - GRACE < timedelta(seconds=5)
    assert list(world.compare()) == []


def test_a_lease_that_is_over_owns_nothing(world: Compared) -> None:
    lease = world.active("host")
    aggregate = world.aggregate_of(lease)
    world.advance(minutes=61)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    world.put(replace(aggregate, hosts=()))
    assert world.sorts() == ["aggregate"]
    (repaired,) = world.repair(waits=True)
    assert repaired.is_repaired


@pytest.mark.parametrize("status", sorted(set(LeaseStatus) - {LeaseStatus.TERMINATED}))
def test_a_lease_in_any_other_status_owns_what_carries_its_mark(world: Compared, status: LeaseStatus) -> None:
    lease = world.active("host", "instances", "floating IP")

    def change(uow: Any) -> None:
        old = uow.leases.get(lease.id)
        uow.leases.save(replace(old, status=status), old, world.clock.now())

    world.database.transact(change)
    before = world.contents()
    assert list(world.repair(waits=True)) == []
    assert world.contents() == before


def test_objects_without_a_certain_mark_stay(world: Compared) -> None:
    state, some_id = world.cloud.state, str(uuid4())
    compute, network = world.cloud.compute, world.cloud.network
    compute.create_aggregate("theirs", "blazar_theirs", {"blazar:owner": "demo"})
    compute.create_aggregate(some_id, "blazar", {"blazar:owner": "demo"})
    compute.create_aggregate(str(uuid4()), None, {"blazar:owner": "demo"})
    used = compute.create_aggregate(some_id, f"blazar_{some_id}", {})
    compute.add_host(used.id, "host1")
    compute.create_aggregate(str(uuid4()), None, {"reservation": some_id, "filter_tenant_id": "demo"})
    compute.create_aggregate(str(uuid4()), None, {"reservation": some_id, "blazar:server": some_id})
    for flavor_id, name, is_public in (
        (some_id, "small", False),
        (str(uuid4()), f"reservation:{some_id}", False),
        ("mine", "reservation:mine", False),
    ):
        specs = {"aggregate_instance_extra_specs:reservation": flavor_id}
        world.cloud.add_flavor(Flavor(flavor_id, name, 1, 1, 1, is_public=is_public, extra_specs=specs))
    other = str(uuid4())
    world.cloud.add_flavor(Flavor(other, f"reservation:{other}", 1, 1, 1, is_public=False))
    state.classes |= {"CUSTOM_GOLD", "CUSTOM_RESERVATION_MINE", "CUSTOM_RESERVATION_"}
    world.cloud.placement.set_reserved_slots("host1", "CUSTOM_GOLD", 3)
    compute.create_server_group(some_id, "affinity")
    compute.create_server_group("reservation:mine", "affinity")
    one = network.create_floating_ip(PUBLIC, "subnet", address(1), "demo", "reservation:mine")
    network.set_floating_ip_tags(one.id, [f"reservation:{some_id}"])  # without the tag of the service
    two = network.create_floating_ip(PUBLIC, "subnet", address(2), "demo", "web")
    network.set_floating_ip_tags(two.id, ["blazar"])
    unregistered = network.create_floating_ip(PUBLIC, "subnet", address(3), "demo", f"reservation:{some_id}")
    assert unregistered.id in state.floating_ips
    before = world.contents()
    assert list(world.repair(waits=True)) == []
    assert world.contents() == before


def test_an_aggregate_that_nova_has_made_too_late_is_known_by_its_zone(world: Compared) -> None:
    """It lacks its owner: who asked for it has given up, and its lease is gone."""
    before, reservation_id = world.contents(), str(uuid4())
    world.cloud.compute.create_aggregate(reservation_id, f"blazar_{reservation_id}", {})
    (repaired,) = world.repair(waits=True)
    assert (repaired.difference.sort, repaired.is_repaired) == ("aggregate", True)
    assert world.contents() == before


def test_a_floating_ip_that_a_crash_left_without_tags_is_known_by_its_description(world: Compared) -> None:
    mark = f"reservation:{uuid4()}"
    world.cloud.network.create_floating_ip(PUBLIC, "subnet", address(1), "demo", mark)
    (repaired,) = world.repair(waits=True)
    assert (repaired.difference.sort, repaired.is_repaired) == ("floating IP", True)
    assert world.floating_ips() == set()


def test_a_floating_ip_whose_mark_is_taken_away_meanwhile_stays(world: Compared) -> None:
    mark, network = f"reservation:{uuid4()}", world.cloud.network
    made = network.create_floating_ip(PUBLIC, "subnet", address(1), "demo", mark)
    world.compare()
    world.advance(minutes=6)

    def change(call: str) -> None:
        if call == "floating_ip":
            state = world.cloud.state
            state.floating_ips[made.id] = replace(state.floating_ips[made.id], description="mine")

    world.cloud.before = change
    world.repair()
    assert world.floating_ips() == {address(1)}


@pytest.mark.parametrize("kind", ["host", "instances"])
def test_servers_are_never_deleted(world: Compared, kind: str) -> None:
    lease = world.active(kind)
    reservation_id = lease.reservations[0].id
    if kind == "host":
        world.cloud.boot("server", world.aggregate_of(lease).hosts[0])
    else:
        world.cloud.boot_reserved("server", reservation_id)
    world.forget(lease)
    left = [finding for finding in world.repair(waits=True) if not finding.is_repaired]
    assert left
    assert "server" in world.cloud.state.servers
    assert reservation_id in {a.name for a in world.cloud.state.aggregates.values()}
    assert (reservation_id in world.cloud.state.flavors) == (kind == "instances")
    assert any("servers are o" in finding.reason for finding in left) or kind == "instances"

    world.cloud.compute.delete_server("server")
    assert all(finding.is_repaired for finding in world.repair(waits=True))
    assert list(world.compare()) == []


def test_a_server_on_the_host_that_is_kept_for_it_stays_and_keeps_it(world: Compared) -> None:
    lease = world.active("server")
    aggregate = world.aggregate_of(lease)
    world.forget(lease)
    (left,) = world.repair(waits=True)
    assert not left.is_repaired
    assert left.reason == f"server {WEB} is on host {aggregate.hosts[0]}: shelve, move or delete it first"
    assert aggregate.id in world.cloud.state.aggregates
    assert world.cloud.state.servers[WEB].host == aggregate.hosts[0]

    world.cloud.compute.shelve_server(WEB)
    (removed,) = world.repair(waits=True)
    assert removed.is_repaired
    assert aggregate.id not in world.cloud.state.aggregates
    assert world.active("server").id != lease.id, "it is free for another reservation"


def test_the_host_from_which_a_server_has_to_be_evacuated_is_no_difference(world: Compared) -> None:
    lease = world.active("server")
    aggregate = world.aggregate_of(lease)
    kept = world.cloud.state.servers[WEB]
    other = sorted(world.in_freepool() - set(aggregate.hosts))[0]
    world.put(replace(aggregate, hosts=(*aggregate.hosts, other)))
    world.cloud.state.servers[WEB] = replace(kept, host=other)
    assert list(world.compare()) == []
    world.cloud.state.servers[WEB] = kept
    assert world.sorts() == ["aggregate"]


@pytest.mark.parametrize("left", ["aggregate", "flavor"])
def test_what_a_server_needs_stays_whatever_else_is_gone(world: Compared, left: str) -> None:
    lease = world.active("instances")
    reservation_id, state = lease.reservations[0].id, world.cloud.state
    world.cloud.boot_reserved("server", reservation_id)
    aggregate = world.aggregate_of(lease)
    without_class(world, lease)
    if left == "flavor":
        del state.aggregates[aggregate.id]
    world.forget(lease)
    groups = set(state.groups)
    assert groups
    found = [finding for finding in world.repair(waits=True) if not finding.is_repaired]
    assert left in {finding.difference.sort for finding in found}
    assert reservation_id in state.flavors
    assert (aggregate.id in state.aggregates) == (left == "aggregate")
    assert set(state.groups) == groups
    assert any("1 servers are of flavor" in finding.reason for finding in found)
    assert AFTER_OTHERS in {finding.reason for finding in found}


def test_a_host_that_is_not_registered_does_not_get_into_the_freepool(world: Compared) -> None:
    world.cloud.add_hypervisor("77", "stranger")
    reservation_id = str(uuid4())
    made = world.cloud.compute.create_aggregate(
        reservation_id, f"blazar_{reservation_id}", {"blazar:owner": "demo"}
    )
    world.cloud.compute.add_host(made.id, "stranger")
    (repaired,) = world.repair(waits=True)
    assert repaired.is_repaired
    assert "stranger" not in world.in_freepool()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_lease_has_between_the_look_and_the_removal_is_not_removed(world: Compared, kind: str) -> None:
    lease = world.active(kind)
    world.forget(lease)
    before = world.contents()
    world.compare()
    world.advance(minutes=6)

    def come_back(progress: str) -> None:
        if progress.startswith("repairing 1 of"):
            world.database.transact(lambda u: u.leases.add(lease, world.clock.now()))

    left = world.reconciliation.repair(lambda: None, come_back)
    assert world.contents() == before
    assert left
    assert not any(finding.is_repaired for finding in left)
    assert list(world.compare()) == []


def test_so_many_at_once_are_not_believed(world: Compared) -> None:
    world.active("instances")
    ids = [str(uuid4()) for _ in range(FEW + 1)]
    for each in ids:
        world.cloud.compute.create_aggregate(each, f"blazar_{each}", {"blazar:owner": "demo"})
    before = world.contents()
    left = world.repair(waits=True)
    assert [finding.reason for finding in left] == [HELD_BACK] * len(ids)
    assert world.contents() == before
    world.new_process(removes_many=True)
    assert all(finding.is_repaired for finding in world.repair(waits=True))
    assert world.contents() != before


# registered hosts


def test_a_host_outside_of_the_freepool_is_put_back(world: Compared) -> None:
    whole = world.contents()
    world.cloud.compute.remove_host(freepool_id(world), "host2")
    (found,) = world.compare()
    assert (found.difference.sort, found.difference.subject) == ("freepool", "host host2")
    (repaired,) = world.repair()
    assert repaired.is_repaired
    assert world.contents() == whole


def test_a_host_with_servers_is_not_put_back(world: Compared) -> None:
    world.cloud.compute.remove_host(freepool_id(world), "host2")
    world.cloud.boot("ordinary", "host2")
    world.cloud.calls.clear()
    (left,) = world.repair()
    assert "1 servers are on host host2" in left.reason
    assert "add_host" not in world.cloud.calls
    assert "host2" not in world.in_freepool()


@pytest.mark.parametrize("change", ["server", "deregistration", "lease"])
def test_a_host_that_is_put_to_use_while_it_is_put_back_is_taken_out_again(
    world: Compared, change: str
) -> None:
    world.cloud.compute.remove_host(freepool_id(world), "host2")
    (host,) = (each for each in registered(world) if each.name == "host2")

    def meanwhile(call: str) -> None:
        if call == "add_host":
            world.cloud.before = lambda _: None
            if change == "server":
                world.cloud.boot("ordinary", "host2")
            elif change == "deregistration":
                world.hosts.unregister(host.id)
            else:
                world.create(hypervisor_properties='["=", "$hypervisor_hostname", "host2"]')

    world.cloud.before = meanwhile
    world.repair()
    world.cloud.before = lambda _: None
    assert "host2" not in world.in_freepool()
    assert ("ordinary" in world.cloud.state.servers) == (change == "server")
    world.run_due()
    if change == "lease":
        assert list(world.compare()) == []


def test_a_host_that_is_being_deregistered_is_left_alone(world: Compared) -> None:
    (host,) = (each for each in registered(world) if each.name == "host2")
    world.database.transact(lambda u: u.resources.save(replace(host, reservable=False), world.clock.now()))
    world.cloud.compute.remove_host(freepool_id(world), "host2")
    assert list(world.compare()) == []


def test_a_host_that_is_registered_anew_while_the_cloud_is_looked_at_does_not_count(world: Compared) -> None:
    (host,) = (each for each in registered(world) if each.name == "host2")

    def give_back(call: str) -> None:
        if call == "aggregates":
            world.cloud.before = lambda _: None
            world.hosts.unregister(host.id)
            world.cloud.before = register

    def register(call: str) -> None:
        if call == "reservation_providers":
            world.cloud.before = lambda _: None
            world.register("host2")

    world.cloud.before = give_back
    assert list(world.compare()) == []
    assert "host2" in world.in_freepool()


def test_a_host_that_is_not_registered_is_told_and_stays_in_the_freepool(world: Compared) -> None:
    world.cloud.add_hypervisor("77", "stranger")
    world.cloud.compute.add_host(freepool_id(world), "stranger")
    (left,) = world.repair()
    assert "aggregate remove host freepool stranger" in left.reason
    assert "stranger" in world.in_freepool()


def test_a_provider_that_is_missing_is_made(world: Compared) -> None:
    whole = world.contents()
    world.cloud.placement.remove_reservation_provider("host3")
    (found,) = world.compare()
    assert (found.difference.sort, found.difference.subject) == ("provider", "provider blazar_host3")
    (repaired,) = world.repair()
    assert repaired.is_repaired
    assert world.contents() == whole


def test_a_host_that_is_given_back_while_the_cloud_is_looked_at_does_not_count(world: Compared) -> None:
    (host,) = (each for each in registered(world) if each.name == "host2")

    def give_back(call: str) -> None:
        if call == "reservation_providers":
            world.cloud.before = lambda _: None
            world.hosts.unregister(host.id)

    world.cloud.before = give_back
    assert list(world.compare()) == []
    assert "host2" not in world.in_freepool()


def test_a_freepool_that_is_missing_is_told(world: Compared) -> None:
    lease = world.active("host")
    del world.cloud.state.aggregates[freepool_id(world)]
    (left,) = world.repair()
    assert left.reason == "make it: openstack aggregate create freepool"
    assert not world.lease(lease).degraded


def freepool_id(world: Compared) -> int:
    return next(a.id for a in world.cloud.state.aggregates.values() if a.name == FREEPOOL)


# the cloud is away


@pytest.mark.parametrize(
    "away", ["aggregates", "reserved_slots", "flavors", "server_groups", "floating_ips", "is_trust_valid"]
)
def test_nothing_is_changed_where_a_part_of_the_cloud_does_not_tell(world: Compared, away: str) -> None:
    lease = world.reserve(whole_hosts(), instances(before_end="snapshot"), floating_ips())
    world.run_due()
    orphaned = world.active("instances")
    without_hosts(world, lease)
    world.forget(orphaned)
    world.compare()
    world.advance(minutes=6)
    before = world.contents()

    def fail(call: str) -> None:
        if call == away:
            raise CloudUnavailable(service="Nova", reason="it is away")

    world.cloud.before = fail
    for work in (world.compare, world.repair):
        with pytest.raises(CloudUnavailable):
            work()
    assert world.contents() == before


def test_a_cloud_that_falls_silent_is_not_asked_for_each_repair(world: Compared) -> None:
    for host in range(1, 5):
        world.cloud.placement.remove_reservation_provider(f"host{host}")
        world.cloud.compute.remove_host(freepool_id(world), f"host{host}")
    attempts = []

    def fail(call: str) -> None:
        if call in ("servers_on", "ensure_reservation_provider"):
            attempts.append(call)
            raise CloudUnavailable(service="Nova", reason="it is away")

    world.cloud.before = fail
    assert len(world.compare()) == 8
    with pytest.raises(CloudUnavailable):
        world.repair()
    assert len(attempts) == MOST_FAILURES + 1


def test_the_cloud_is_asked_for_lists_and_not_for_each_lease(world: Compared) -> None:
    def asked() -> list[str]:
        world.cloud.calls.clear()
        assert list(world.compare()) == []
        of_each = ("flavor_projects", "reserved_slots")
        return [call for call in world.cloud.calls if call not in of_each]

    world.active("instances", "floating IP")
    few = asked()
    for _ in range(4):
        world.reserve(instances())
    world.run_due()
    assert asked() == few


def test_it_tells_how_far_it_is(world: Compared) -> None:
    lease = world.active("host")
    without_aggregate(world, lease)
    world.repair()
    told = " ".join(world.told)
    for word in ("active leases: 0 of 1", "hosts", "what has no lease", "repairing 1 of 1", "again"):
        assert word in told


def test_a_difference_is_one_line(world: Compared) -> None:
    lease = world.active("host")
    hosts = world.aggregate_of(lease).hosts
    without_aggregate(world, lease)
    (found,) = world.compare()
    (host,), reservation_id = hosts, lease.reservations[0].id
    assert found.sentence == (
        f"aggregate {reservation_id} (reservation {reservation_id} of lease {lease.id}): "
        f"expected hosts {host}, found no such aggregate"
    )
    (repaired,) = world.repair()
    assert repaired.sentence == f"repaired: {found.sentence}"


def test_a_lease_of_a_kind_that_is_not_enabled_is_left_alone(world: Compared) -> None:
    lease = world.active("host", "floating IP")
    without_hosts(world, lease)
    del world.kinds["virtual:floatingip"]
    assert list(world.compare()) == []


class PlainKind(HostKind):
    """A kind of another distribution, which compares nothing."""

    differences = Kind.differences
    marked = Kind.marked


def test_a_kind_that_compares_nothing_works_and_keeps_what_it_has(world: Compared) -> None:
    world.kinds["physical:host"] = PlainKind()
    world.new_process()
    lease = world.active("host")
    whole = world.contents()
    without_hosts(world, lease)
    harmed = world.contents()
    assert "aggregate" not in world.sorts()
    world.forget(lease)
    world.repair(waits=True)
    assert world.contents()["aggregates"].keys() == harmed["aggregates"].keys() == whole["aggregates"].keys()
