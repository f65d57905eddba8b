"""Room for servers: what users of virtual:instance and flavor:instance get, and what they are told when they
can't."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from blazar.domain.errors import (
    BlazarError,
    CantUpdateParameter,
    CloudRefused,
    CloudUnavailable,
    Conflict,
    InvalidInput,
    MalformedParameter,
    MalformedRequirements,
    MissingParameter,
    NotEnoughResources,
)
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.kinds.slots.actuator import resource_class
from blazar.kinds.slots.errors import FlavorNotFound
from blazar.service.commands import NOW, ReservationChange, ReservationRequest
from blazar.service.ports import Flavor

from .world import ADMIN, ALT, DEMO, World, instances, servers, whole_hosts

BOTH = pytest.mark.parametrize("asked", [instances, servers], ids=["virtual:instance", "flavor:instance"])
MOST = 2**31 - 1


@pytest.fixture
def world() -> World:
    return World()


def only(lease):
    (reservation,) = lease.reservations
    return reservation


def change(lease, **parameters):
    return (ReservationChange(only(lease).id, parameters),)


def shown(world, lease):
    reservation = only(world.lease(lease))
    return world.kinds[reservation.resource_type].render(reservation)


def left_in_cloud(world):
    """What instance reservations have in the cloud."""
    state = world.cloud.state
    return {
        "flavors": set(state.flavors) - {"small"},
        "aggregates": {a.name for a in state.aggregates.values()} - {"freepool"},
        "classes": state.classes,
        "slots": set(state.slots),
        "groups": set(state.groups),
        "trusts": set(state.trusts),
        "servers": set(state.servers),
    }


def nothing_left(world):
    assert not any(left_in_cloud(world).values()), left_in_cloud(world)


@BOTH
class TestLife:
    def test_servers_of_the_project_boot_up_to_the_amount_and_nobody_elses(self, world, asked):
        lease = world.reserve(asked(amount=3))
        flavor_id = only(lease).id
        with pytest.raises(CloudRefused, match="could not be found"):
            world.cloud.boot_reserved("early", flavor_id)
        world.run_due()
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        with pytest.raises(CloudRefused, match="could not be found"):
            world.cloud.boot_reserved("strange", flavor_id, "alt")
        for number in range(3):
            world.cloud.boot_reserved(f"server{number}", flavor_id)
        with pytest.raises(CloudRefused, match="No valid host"):
            world.cloud.boot_reserved("one too many", flavor_id)

    def test_the_hosts_stay_in_the_freepool(self, world, asked):
        world.reserve(asked(amount=3, affinity=False))
        world.run_due()
        assert world.in_freepool() == {"host1", "host2", "host3", "host4"}

    def test_what_is_in_the_cloud_is_named_as_the_filters_expect(self, world, asked):
        lease = world.reserve(asked(amount=2, affinity=True))
        world.run_due()
        reservation = only(world.lease(lease))
        custom = f"CUSTOM_RESERVATION_{reservation.id.upper().replace('-', '_')}"
        flavor = world.cloud.state.flavors[reservation.id]
        group = reservation.cloud_state["server_group_id"]
        assert (flavor.name, flavor.is_public) == (f"reservation:{reservation.id}", False)
        assert flavor.extra_specs == {
            "aggregate_instance_extra_specs:reservation": reservation.id,
            f"resources:{custom}": "1",
            "affinity_id": group,
        }
        aggregate = world.cloud.state.aggregates[reservation.cloud_state["aggregate_id"]]
        assert (aggregate.name, aggregate.availability_zone) == (reservation.id, None)
        assert aggregate.metadata == {
            "reservation": reservation.id,
            "filter_tenant_id": "demo",
            "blazar:owner": "demo",
            "affinity_id": group,
        }
        assert world.cloud.state.slots == {("host1", custom): 2}

    def test_the_answer_has_the_fields_of_the_api(self, world, asked):
        lease = world.reserve(asked(amount=2))
        assert set(shown(world, lease)) == {
            "vcpus",
            "memory_mb",
            "disk_gb",
            "amount",
            "affinity",
            "resource_properties",
            "flavor_id",
            "aggregate_id",
            "server_group_id",
        }
        before = shown(world, lease)
        assert (before["flavor_id"], before["aggregate_id"], before["server_group_id"]) == (
            only(lease).id,
            None,
            None,
        )
        world.run_due()
        assert isinstance(shown(world, lease)["aggregate_id"], int)

    def test_at_the_end_servers_and_all_that_was_made_are_gone(self, world, asked):
        lease = world.reserve(asked(amount=2, affinity=False))
        world.run_due()
        world.cloud.boot_reserved("server", only(lease).id)
        world.advance(minutes=61)
        over = world.lease(lease)
        assert (over.status, only(over).status) == (LeaseStatus.TERMINATED, ReservationStatus.DELETED)
        nothing_left(world)

    def test_the_providers_of_its_hosts_stay(self, world, asked):
        """nova-compute remembers them and would fail each boot on the hosts without them."""
        lease = world.reserve(asked(amount=4, affinity=False))
        world.run_due()
        world.advance(minutes=61)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        placement = world.cloud.placement
        assert all(placement.provider(f"blazar_{host}") is not None for host in world.in_freepool())
        assert "remove_reservation_provider" not in world.cloud.calls

    def test_the_end_waits_for_a_server_that_refuses_to_die(self, world, asked):
        lease = world.reserve(asked())
        world.run_due()
        world.cloud.boot_reserved("stubborn", only(lease).id)
        world.cloud.state.undying.add("stubborn")
        world.advance(minutes=62)
        waiting = world.lease(lease)
        assert waiting.status is LeaseStatus.TERMINATING
        assert waiting.status_reason == "1 servers are being deleted: stubborn"
        with pytest.raises(CloudRefused):
            world.cloud.boot_reserved("late", only(lease).id)
        world.cloud.state.undying.clear()
        world.advance(minutes=2)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        nothing_left(world)

    @pytest.mark.parametrize("affinity", [None, True, False])
    @pytest.mark.parametrize("started", [False, True])
    def test_deletion_leaves_nothing(self, world, asked, affinity, started):
        lease = world.reserve(asked(amount=2, affinity=affinity))
        if started:
            world.run_due()
            world.cloud.boot_reserved("server", only(lease).id)
        world.delete(lease)
        world.run_due()
        world.advance(seconds=5)
        assert not world.leases.list(None)
        nothing_left(world)

    def test_growing_an_active_reservation_adds_slots_and_touches_no_server(self, world, asked):
        lease = world.reserve(asked(amount=1))
        world.run_due()
        world.cloud.boot_reserved("first", only(lease).id)
        grown = world.update(lease, reservations=change(lease, amount=9))
        assert grown.status is LeaseStatus.ACTIVE
        world.run_due()
        assert sum(world.cloud.state.slots.values()) == 9
        for number in range(8):
            world.cloud.boot_reserved(f"more{number}", only(lease).id)
        assert len(world.cloud.state.servers) == 9

    def test_an_active_reservation_grows_and_nothing_else(self, world, asked):
        lease = world.reserve(asked(amount=2))
        world.run_due()
        before = world.lease(lease)
        with pytest.raises(CantUpdateParameter, match="amount of an active reservation to fewer than 2"):
            world.update(lease, reservations=change(lease, amount=1))
        with pytest.raises(Conflict, match="An active reservation only accepts to update amount"):
            world.update(lease, reservations=change(lease, affinity=True))
        assert world.lease(lease) == before
        assert world.update(lease, reservations=change(lease, amount="2", affinity="None")) == before

    def test_growth_beyond_what_is_free_changes_nothing(self, world, asked):
        lease = world.reserve(asked(amount=2))
        world.run_due()
        before = world.lease(lease)
        with pytest.raises(NotEnoughResources, match="with room for"):
            world.update(lease, reservations=change(lease, amount=1000))
        assert world.lease(lease) == before

    def test_an_active_lease_can_be_prolonged(self, world, asked):
        lease = world.reserve(asked(amount=2))
        world.run_due()
        longer = world.update(lease, end=world.in_minutes(120))
        assert longer.status is LeaseStatus.ACTIVE
        world.advance(minutes=90)
        world.cloud.boot_reserved("server", only(lease).id)

    def test_a_restart_repairs_what_somebody_removed(self, world, asked):
        lease = world.reserve(asked(amount=2))
        world.run_due()
        state = world.cloud.state
        state.flavors.pop(only(lease).id)
        state.slots.clear()
        world.restart()
        world.reconcile_all()
        world.run_due()
        world.cloud.boot_reserved("server", only(lease).id)

    def test_a_restart_has_little_to_ask_where_all_is_well(self, world, asked):
        world.reserve(asked(amount=2))
        world.run_due()
        world.cloud.calls.clear()
        world.reconcile_all()
        world.run_due()
        assert "create_flavor" not in world.cloud.calls
        assert "create_aggregate" not in world.cloud.calls
        assert "add_host" not in world.cloud.calls
        assert "grant_flavor" not in world.cloud.calls

    def test_a_project_that_is_gone_at_the_start_is_an_error_that_ends(self, world, asked):
        lease = world.reserve(asked(amount=2))

        def refuse(call):
            if call == "grant_flavor":
                raise CloudRefused(service="Nova", reason="Project ID demo is not a valid project.")

        world.cloud.before = refuse
        world.run_due()
        failed = world.lease(lease)
        assert failed.status is LeaseStatus.ERROR
        assert "not a valid project" in str(failed.status_reason)
        world.advance(minutes=61)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        nothing_left(world)


class TestRoom:
    def test_slots_on_one_host_are_all_counted(self, world):
        world = World(hosts=1)
        world.reserve(instances(vcpus=2, amount=3))
        with pytest.raises(NotEnoughResources, match="1 host matches, with room for 1 of the 2 wanted"):
            world.reserve(instances(vcpus=2, amount=2))
        world.reserve(instances(vcpus=2, amount=1))

    def test_memory_and_disk_count_as_well(self):
        world = World(hosts=1)
        world.reserve(instances(memory_mb=16000))
        with pytest.raises(NotEnoughResources):
            world.reserve(instances(memory_mb=1000))
        world.reserve(instances(memory_mb=300, disk_gb=90))
        with pytest.raises(NotEnoughResources):
            world.reserve(instances(memory_mb=1, disk_gb=1))
        world.reserve(instances(memory_mb=1, disk_gb=0))

    def test_instances_and_flavors_share_a_host_as_long_as_their_sum_fits(self):
        world = World(hosts=1)
        world.reserve(instances(vcpus=1, amount=4))
        world.reserve(servers(amount=2))
        for asked in (instances(), servers()):
            with pytest.raises(NotEnoughResources):
                world.reserve(asked)
        world.advance(minutes=1)
        assert [lease.status for lease in world.leases.list(None)] == [LeaseStatus.ACTIVE] * 2

    def test_they_never_share_with_a_host_reservation(self):
        world = World(hosts=1)
        world.reserve(instances())
        with pytest.raises(NotEnoughResources):
            world.reserve(whole_hosts())
        world = World(hosts=1)
        world.reserve(whole_hosts())
        for asked in (instances(), servers()):
            with pytest.raises(NotEnoughResources):
                world.reserve(asked)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (instances(amount=8), instances(amount=8)),
            (instances(amount=8), servers(amount=4)),
            (instances(amount=8), whole_hosts()),
            (whole_hosts(), servers(amount=4)),
        ],
        ids=["instance-instance", "instance-flavor", "instance-host", "host-flavor"],
    )
    @pytest.mark.parametrize("reverse", [False, True])
    def test_back_to_back_is_no_collision(self, first, second, reverse):
        world = World(hosts=1)
        dates = [{"end": 60}, {"start": 60, "end": 120}]
        leases = [
            world.reserve(request, **when)
            for request, when in zip((first, second), reversed(dates) if reverse else dates, strict=True)
        ]
        world.advance(minutes=61)
        assert {world.lease(lease).status for lease in leases} == {LeaseStatus.TERMINATED, LeaseStatus.ACTIVE}

    def test_a_host_with_a_stuck_server_of_an_instance_reservation_is_waited_for(self):
        world = World(hosts=1)
        first = world.reserve(instances(amount=2))
        second = world.reserve(whole_hosts(), start=60, end=120)
        world.run_due()
        world.cloud.boot_reserved("stubborn", only(first).id)
        world.cloud.state.undying.add("stubborn")
        world.advance(minutes=62)
        assert world.lease(second).status is LeaseStatus.PENDING
        world.cloud.state.undying.clear()
        world.advance(minutes=1)
        assert world.lease(second).status is LeaseStatus.ACTIVE

    def test_growth_on_a_host_that_the_lease_has_waits_for_the_servers_of_one_that_has_ended(self):
        """The new slots are free by the calendar, and in the cloud only when the servers on them are gone."""
        world = World(hosts=1)
        ending, growing = world.reserve(instances(amount=6)), world.reserve(instances(amount=2), end=120)
        world.run_due()
        world.cloud.boot_reserved("stubborn", only(ending).id)
        world.cloud.state.undying.add("stubborn")
        world.advance(minutes=61)
        world.update(growing, reservations=change(growing, amount=8))
        world.advance(minutes=1)
        assert world.cloud.state.slots["host1", resource_class(only(growing).id)] == 2
        world.cloud.state.undying.clear()
        world.advance(minutes=1)
        assert world.cloud.state.slots["host1", resource_class(only(growing).id)] == 8

    def test_several_kinds_in_one_lease_are_planned_together_or_not_at_all(self, world):
        lease = world.reserve(
            whole_hosts(min=2, max=2), instances(amount=8), servers(amount=2, affinity=False)
        )
        where = {r.resource_type: {a.resource_id for a in r.allocations} for r in lease.reservations}
        assert not where["physical:host"] & (where["virtual:instance"] | where["flavor:instance"])

    def test_a_lease_that_cannot_be_had_as_a_whole_leaves_nothing(self, world):
        with pytest.raises(NotEnoughResources):
            world.reserve(
                instances(amount=2, affinity=True), servers(affinity=False), whole_hosts(min=4, max=4)
            )
        assert not world.leases.list(None)
        nothing_left(world)

    def test_affinity_puts_all_on_one_host(self, world):
        together = world.reserve(instances(vcpus=2, amount=4, affinity=True))
        assert [a.slots for a in together.allocations] == [4]
        with pytest.raises(NotEnoughResources, match="on one of them"):
            world.reserve(instances(vcpus=2, amount=5, affinity=True))

    def test_anti_affinity_puts_each_on_another_host(self, world):
        apart = world.reserve(instances(amount=4, affinity=False))
        assert [a.slots for a in apart.allocations] == [1, 1, 1, 1]
        with pytest.raises(NotEnoughResources):
            world.reserve(instances(amount=5, affinity=False))

    def test_requirements_choose_the_hosts(self, world):
        world.hosts.set_capabilities("3", {"gpu": "True"})
        lease = world.reserve(instances(amount=2, resource_properties='["==", "$gpu", "True"]'))
        assert world.hosts_of(lease) == {"3"}

    def test_a_pending_reservation_can_change_in_every_way(self, world):
        lease = world.reserve(instances(amount=3), start=10)
        changed = world.update(
            lease,
            start=world.in_minutes(30),
            end=world.in_minutes(90),
            reservations=change(lease, vcpus=4, memory_mb="2048", disk_gb=0, amount=2, affinity="True"),
        )
        assert {**only(changed).parameters} == {
            "vcpus": 4,
            "memory_mb": 2048,
            "disk_gb": 0,
            "amount": 2,
            "affinity": True,
            "resource_properties": "",
            "before_end": "default",
        }
        assert [a.slots for a in changed.allocations] == [2]
        assert changed.allocations[0].usage.amounts == {"VCPU": 4, "MEMORY_MB": 2048}

    def test_shrinking_on_a_full_host_is_possible(self):
        world = World(hosts=1)
        lease = world.reserve(instances(vcpus=2, amount=4), start=10)
        assert [a.slots for a in world.update(lease, reservations=change(lease, amount=2)).allocations] == [2]

    def test_a_very_large_amount_is_refused_at_once(self, world):
        with pytest.raises(NotEnoughResources):
            world.reserve(instances(memory_mb=1, disk_gb=0, amount=MOST))


class TestMistakes:
    @pytest.mark.parametrize(
        "name", ["vcpus", "memory_mb", "disk_gb", "amount", "affinity", "resource_properties"]
    )
    def test_every_parameter_of_an_instance_reservation_is_needed(self, world, name):
        parameters = {k: v for k, v in instances().parameters.items() if k != name}
        with pytest.raises(MissingParameter, match=f"Missing parameter {name}"):
            world.reserve(ReservationRequest("virtual:instance", parameters))

    @pytest.mark.parametrize("name", ["flavor_id", "amount", "affinity"])
    def test_every_parameter_of_a_flavor_reservation_is_needed(self, world, name):
        parameters = {k: v for k, v in servers().parameters.items() if k != name}
        with pytest.raises(MissingParameter, match=f"Missing parameter {name}"):
            world.reserve(ReservationRequest("flavor:instance", parameters))

    def test_all_that_are_missing_are_named(self, world):
        with pytest.raises(MissingParameter, match="Missing parameter memory_mb,amount,resource_properties"):
            world.reserve(
                ReservationRequest("virtual:instance", {"vcpus": 1, "disk_gb": 1, "affinity": None})
            )

    @pytest.mark.parametrize("value", ["", None])
    @pytest.mark.parametrize("name", ["vcpus", "memory_mb", "disk_gb", "amount"])
    def test_clients_send_nothing_for_a_number_that_was_left_out(self, world, name, value):
        with pytest.raises(MissingParameter, match=name):
            world.reserve(instances(**{name: value}))

    @pytest.mark.parametrize("name", ["vcpus", "memory_mb", "disk_gb", "amount"])
    @pytest.mark.parametrize(
        "value", [-1, "-1", 1.5, "1.5", True, [], {}, "many", 2**31, "9" * 30, 10**30, "²"]
    )
    def test_numbers_are_whole_positive_and_bounded(self, world, name, value):
        with pytest.raises(MalformedParameter, match=f"Malformed parameter {name} "):
            world.reserve(instances(**{name: value}))
        nothing_left(world)

    @pytest.mark.parametrize("name", ["vcpus", "memory_mb", "amount"])
    def test_zero_is_no_number_of_servers_cpus_or_memory(self, world, name):
        with pytest.raises(MalformedParameter, match=name):
            world.reserve(instances(**{name: 0}))

    def test_no_disk_is_fine_and_numbers_may_be_text(self, world):
        lease = world.reserve(instances(vcpus="2", memory_mb="512", disk_gb="0", amount="2"))
        assert [only(lease).parameters[n] for n in ("vcpus", "memory_mb", "disk_gb", "amount")] == [
            2,
            512,
            0,
            2,
        ]

    @BOTH
    @pytest.mark.parametrize(
        ("word", "meaning"),
        [
            *((word, True) for word in (True, "True", "true", "TRUE", "yes", "on", "1", "t", "Y", 1)),
            *((word, False) for word in (False, "False", "no", "OFF", "0", "f", "n", 0)),
            *((word, None) for word in (None, "None", "none", "")),
        ],
    )
    def test_words_for_affinity(self, world, asked, word, meaning):
        assert only(world.reserve(asked(affinity=word))).parameters["affinity"] is meaning

    @BOTH
    @pytest.mark.parametrize("word", ["maybe", "null", 2, 1.0, [], {}])
    def test_other_words_are_refused(self, world, asked, word):
        with pytest.raises(MalformedParameter) as refused:
            world.reserve(asked(affinity=word))
        assert refused.value.message == "Malformed parameter affinity (must be a bool value or None)"

    def test_requirements_are_checked(self, world):
        with pytest.raises(MalformedRequirements):
            world.reserve(instances(resource_properties='["=="]'))

    def test_an_unknown_flavor_is_not_found(self, world):
        with pytest.raises(FlavorNotFound, match=r"Flavor nope could not be found\."):
            world.reserve(servers(flavor_id="nope"))

    def test_numbers_are_flavor_ids_as_well(self, world):
        world.cloud.add_flavor(Flavor("3", "m1.medium", 4, 4096, 20))
        assert only(world.reserve(servers(flavor_id=3))).parameters["flavor_id"] == "3"

    @pytest.mark.parametrize("flavor_id", [True, [], {}, 1.5, "x" * 256, "a\nb"])
    def test_what_is_no_flavor_id(self, world, flavor_id):
        with pytest.raises(MalformedParameter, match="flavor_id"):
            world.reserve(servers(flavor_id=flavor_id))


class TestFlavors:
    def flavored(self, world, **fields):
        world.cloud.add_flavor(
            Flavor(**({"id": "f", "name": "f", "vcpus": 2, "ram": 1024, "disk": 4} | fields))
        )
        return world.reserve(servers(flavor_id="f"))

    def test_the_source_is_shown_as_nova_tells_it(self, world):
        lease = self.flavored(world, ephemeral=3, swap=1025, extra_specs={"quota:vif_inbound_average": "10"})
        fields = shown(world, lease)
        assert [fields[name] for name in ("vcpus", "memory_mb", "disk_gb", "amount")] == [2, 1024, 4, 1]
        assert json.loads(fields["resource_properties"]) == {
            "id": "f",
            "name": "f",
            "vcpus": 2,
            "ram": 1024,
            "disk": 4,
            "OS-FLV-EXT-DATA:ephemeral": 3,
            "swap": 1025,
            "os-flavor-access:is_public": True,
            "extra_specs": {"quota:vif_inbound_average": "10"},
        }

    def test_all_disks_count_and_all_extra_specs_are_carried_over(self, world):
        lease = self.flavored(world, ephemeral=3, swap=1025, extra_specs={"quota:vif_inbound_average": "10"})
        assert lease.allocations[0].usage.amounts == {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 9}
        world.run_due()
        made = world.cloud.state.flavors[only(lease).id]
        assert (made.vcpus, made.ram, made.disk, made.ephemeral, made.swap) == (2, 1024, 4, 3, 1025)
        assert made.extra_specs["quota:vif_inbound_average"] == "10"

    def test_the_source_may_be_gone_at_the_start(self, world):
        lease = self.flavored(world)
        world.cloud.state.flavors.pop("f")
        world.run_due()
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert (
            world.update(lease, reservations=change(lease, amount=2, flavor_id="f")).status
            is LeaseStatus.ACTIVE
        )

    def test_a_private_flavor_is_there_for_its_projects_and_administrators(self, world):
        world.cloud.add_flavor(Flavor("own", "own", 1, 512, 1, is_public=False), projects=["demo"])
        world.reserve(servers(flavor_id="own"))
        world.reserve(servers(flavor_id="own"), caller=ADMIN)
        with pytest.raises(FlavorNotFound, match="Flavor own could not be found"):
            world.reserve(servers(flavor_id="own"), caller=ALT)

    def test_the_flavor_of_a_pending_reservation_can_change(self, world):
        world.cloud.add_flavor(Flavor("big", "m1.big", 8, 8192, 50))
        lease = world.reserve(servers(amount=2), start=10)
        changed = world.update(lease, reservations=change(lease, flavor_id="big", amount="3"))
        assert only(changed).parameters["flavor"]["vcpus"] == 8
        assert len(changed.allocations) == 3
        with pytest.raises(FlavorNotFound):
            world.update(lease, reservations=change(lease, flavor_id="nope"))
        world.advance(minutes=11)
        assert world.cloud.state.flavors[only(lease).id].vcpus == 8
        with pytest.raises(Conflict, match="only accepts to update amount"):
            world.update(lease, reservations=change(lease, flavor_id="small"))

    def test_a_flavor_that_asks_for_nothing_is_refused(self, world):
        nothing = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
        with pytest.raises(MalformedParameter, match="asks for no resources at all"):
            self.flavored(world, extra_specs=nothing)

    def test_other_resource_classes_and_traits(self):
        world = World(hosts=0)
        world.cloud.add_hypervisor("1", "plain")
        world.cloud.add_hypervisor("2", "gpus")
        world.cloud.set_provider(
            "gpus", {"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 100, "CUSTOM_GPU": 2}, ["CUSTOM_FAST"]
        )
        for name in ("plain", "gpus"):
            world.register(name)
        gpus = self.flavored(world, extra_specs={"resources:CUSTOM_GPU": "1"})
        assert world.hosts_of(gpus) == {"2"}
        self.flavored(world, extra_specs={"resources:CUSTOM_GPU": "1"})
        with pytest.raises(NotEnoughResources):
            self.flavored(world, extra_specs={"resources:CUSTOM_GPU": "1"})
        assert world.hosts_of(self.flavored(world, extra_specs={"trait:CUSTOM_FAST": "required"})) == {"2"}
        assert world.hosts_of(self.flavored(world, extra_specs={"trait:CUSTOM_FAST": "forbidden"})) == {"1"}

    @pytest.mark.parametrize(
        ("specs", "amounts"),
        [
            ({"hw:cpu_policy": "dedicated"}, {"PCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 4}),
            ({"hw:cpu_policy": "shared"}, {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 4}),
            (
                {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
                {"PCPU": 3, "MEMORY_MB": 1024, "DISK_GB": 4},
            ),
            ({"resources:VCPU": "0", "resources:DISK_GB": "7"}, {"MEMORY_MB": 1024, "DISK_GB": 7}),
        ],
    )
    def test_what_a_server_takes(self, specs, amounts):
        world = World(hosts=0)
        world.cloud.add_hypervisor("1", "host")
        world.cloud.set_provider("host", {"VCPU": 8, "PCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 100})
        world.register("host")
        assert self.flavored(world, extra_specs=specs).allocations[0].usage.amounts == amounts

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("resources1:VCPU", "1"),
            ("resources_NET:SRIOV_NET_VF", "1"),
            ("trait1:HW_X", "required"),
            ("group_policy", "isolate"),
            ("aggregate_instance_extra_specs:ssd", "true"),
            ("aggregate_instance_extra_specs:reservation", "other"),
            ("resources:CUSTOM_RESERVATION_X", "1"),
            ("capabilities:hypervisor_type", "s== QEMU"),
            ("pci_passthrough:alias", "gpu:1"),
            ("accel:device_profile", "x"),
            ("hw:cpu_policy", "mixed"),
            ("hw:mem_page_size", "1GB"),
            ("hw:numa_nodes", "2"),
            ("ssd", "true"),
        ],
    )
    def test_extra_specs_that_cannot_be_guaranteed_are_refused_by_name(self, world, name, value):
        with pytest.raises(Conflict) as refused:
            self.flavored(world, extra_specs={name: value})
        assert f"its extra spec {name}={value} cannot be guaranteed" in refused.value.message

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("trait:HW_X", "preferred"),
            ("trait:hw x", "required"),
            ("resources:VCPU", "two"),
            ("resources:VCPU", "-1"),
            ("resources:VCPU", "99999999999"),
            ("resources:vcpu", "1"),
        ],
    )
    def test_extra_specs_that_mean_nothing_are_refused_by_name(self, world, name, value):
        with pytest.raises(MalformedParameter, match=name):
            self.flavored(world, extra_specs={name: value})


@BOTH
class TestServerGroups:
    @pytest.mark.parametrize(("affinity", "policy"), [(True, "affinity"), (False, "anti-affinity")])
    def test_the_group_is_there_with_the_answer_in_the_users_project(self, world, asked, affinity, policy):
        lease = world.reserve(asked(amount=2, affinity=affinity))
        (group,) = world.cloud.state.groups.values()
        assert lease.status is LeaseStatus.PENDING
        assert shown(world, lease)["server_group_id"] == group.id
        assert (group.name, group.policy, group.project_id) == (
            f"reservation:{only(lease).id}",
            policy,
            "demo",
        )
        assert world.notifications() == ["lease.create"]

    def test_without_affinity_nothing_is_asked_of_the_cloud(self, world, asked):
        world.cloud.calls.clear()
        world.reserve(asked(amount=2))
        assert [call for call in world.cloud.calls if call != "flavor"] == []

    def test_a_shortage_is_told_before_anything_is_made(self, world, asked):
        world.cloud.calls.clear()
        with pytest.raises(NotEnoughResources):
            world.reserve(asked(amount=1000, affinity=True))
        assert "create_server_group" not in world.cloud.calls

    @pytest.mark.parametrize("failure", [CloudUnavailable, CloudRefused])
    @pytest.mark.parametrize("which", [1, 2])
    def test_where_nova_makes_no_group_there_is_no_lease_and_nothing_left(self, world, asked, failure, which):
        calls = []

        def fail(call):
            if call == "create_server_group":
                calls.append(call)
                if len(calls) == which:
                    raise failure(service="Nova", reason="no")

        world.cloud.before = fail
        with pytest.raises(failure):
            world.reserve(asked(affinity=True), asked(affinity=False))
        world.cloud.before = lambda call: None
        world.run_due()
        assert not world.leases.list(None)
        assert world.notifications() == []
        nothing_left(world)
        world.reserve(whole_hosts(min=4, max=4))

    def test_a_lease_that_was_deleted_while_its_group_was_made_is_no_lease(self, world, asked):
        def delete(call):
            if call == "create_server_group":
                world.cloud.before = lambda call: None
                (lease,) = world.leases.list(None)
                assert lease.status is LeaseStatus.CREATING
                world.delete(lease)
                world.run_due()

        world.cloud.before = delete
        with pytest.raises(CloudUnavailable, match="deleted meanwhile"):
            world.reserve(asked(affinity=True))
        assert not world.leases.list(None)
        nothing_left(world)

    def test_a_token_is_needed(self, world, asked):
        with pytest.raises(InvalidInput, match="needs a token"):
            world.reserve(asked(affinity=True), caller=replace(DEMO, token=None))
        world.run_due()
        assert not world.leases.list(None)

    @pytest.mark.slow
    @pytest.mark.parametrize("before", [True, False, None])
    @pytest.mark.parametrize("after", [True, False, None])
    def test_a_change_of_affinity_makes_another_group(self, world, asked, before, after):
        lease = world.reserve(asked(amount=2, affinity=before), start=10)
        first = shown(world, lease)["server_group_id"]
        changed = world.update(lease, reservations=change(lease, affinity=after))
        group = shown(world, changed)["server_group_id"]
        policies = {True: "affinity", False: "anti-affinity"}
        assert [(g.id, g.policy) for g in world.cloud.state.groups.values()] == (
            [] if after is None else [(group, policies[after])]
        )
        assert (group == first) is (before is after)
        world.advance(minutes=11)
        aggregate = next(a for a in world.cloud.state.aggregates.values() if a.name == only(lease).id)
        assert aggregate.metadata.get("affinity_id") == group
        world.advance(minutes=61)
        nothing_left(world)

    def test_a_change_that_cannot_be_had_keeps_the_group(self, world, asked):
        lease = world.reserve(asked(amount=5), start=10)
        before = world.lease(lease)
        with pytest.raises(NotEnoughResources):
            world.update(lease, reservations=change(lease, affinity=False))
        assert world.lease(lease) == before
        nothing_left(world)

    def test_a_group_that_cannot_be_made_changes_nothing(self, world, asked):
        lease = world.reserve(asked(amount=2, affinity=True), start=10)

        def fail(call):
            if call == "create_server_group":
                raise CloudUnavailable(service="Nova", reason="503")

        world.cloud.before = fail
        with pytest.raises(CloudUnavailable):
            world.update(lease, reservations=change(lease, affinity=False))
        world.cloud.before = lambda call: None
        stored = world.lease(lease)
        assert only(stored).parameters == only(lease).parameters
        assert shown(world, stored) == shown(world, lease)
        assert set(world.cloud.state.groups) == {shown(world, lease)["server_group_id"]}

    def test_only_the_project_itself_can_change_affinity(self, world, asked):
        lease = world.reserve(asked(amount=2), start=10)
        with pytest.raises(InvalidInput, match="scoped to the lease's project demo"):
            world.update(lease, caller=ALT, reservations=change(lease, affinity=True))
        assert not world.cloud.state.groups

    def test_a_group_that_the_user_removed_is_no_obstacle(self, world, asked):
        lease = world.reserve(asked(amount=2, affinity=True))
        world.cloud.state.groups.clear()
        world.advance(minutes=61)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        nothing_left(world)


class TestTrusts:
    def snapshots(self, world, **fields):
        return world.reserve(whole_hosts(before_end="snapshot"), end=120, **fields)

    def test_a_lease_without_snapshots_needs_none(self, world):
        world.cloud.calls.clear()
        lease = world.reserve(whole_hosts(), instances(), servers())
        assert lease.trust_id is None
        assert [call for call in world.cloud.calls if call != "flavor"] == []

    def test_it_is_made_with_the_lease_and_goes_at_its_end(self, world):
        lease = self.snapshots(world)
        ((trust_id, trust),) = world.cloud.state.trusts.items()
        assert lease.trust_id == trust_id
        assert (trust.trustor.user_id, trust.trustor.project_id) == (DEMO.user_id, "demo")
        assert set(trust.trustor.roles) == set(DEMO.roles)
        assert trust.expires_at > lease.interval.end
        world.advance(minutes=121)
        assert world.lease(lease).trust_id is None
        assert not world.cloud.state.trusts

    def test_snapshots_are_made_as_the_user(self, world):
        lease = self.snapshots(world)
        world.run_due()
        world.cloud.boot("mine", "host1")
        world.advance(minutes=61)
        assert world.cloud.state.images == ["reserved_mine"]
        assert world.cloud.state.snapshots_by == [DEMO.user_id]
        assert world.event_statuses(lease)["before_end_lease"] == "DONE"

    @BOTH
    def test_snapshots_of_reserved_servers_are_made_as_the_user(self, world, asked):
        lease = world.reserve(asked(amount=2, before_end="snapshot"), instances(), end=120)
        wanted, other = lease.reservations
        world.run_due()
        world.cloud.boot_reserved("mine", wanted.id)
        world.cloud.boot_reserved("left out", other.id)
        world.advance(minutes=61)
        assert world.cloud.state.images == ["reserved_mine"]
        assert world.cloud.state.snapshots_by == [DEMO.user_id]
        assert world.event_statuses(lease)["before_end_lease"] == "DONE"
        world.advance(minutes=60)
        nothing_left(world)

    @BOTH
    def test_an_active_reservation_can_ask_for_snapshots_and_give_them_up(self, world, asked):
        lease = world.reserve(asked(), end=120)
        world.run_due()
        assert "before_end" not in shown(world, lease)
        world.update(lease, reservations=change(lease, before_end="snapshot"))
        assert shown(world, lease)["before_end"] == "snapshot"
        assert set(world.cloud.state.trusts) == {world.lease(lease).trust_id}
        world.update(lease, reservations=change(lease, before_end="default"))
        assert not world.cloud.state.trusts
        with pytest.raises(MalformedParameter, match="before_end"):
            world.update(lease, reservations=change(lease, before_end="email"))

    @pytest.mark.parametrize("started", [False, True])
    def test_it_goes_with_a_deletion(self, world, started):
        lease = self.snapshots(world)
        if started:
            world.run_due()
        world.delete(lease)
        world.run_due()
        assert not world.leases.list(None)
        nothing_left(world)

    @pytest.mark.parametrize("refused", [MalformedParameter, NotEnoughResources])
    def test_a_refused_request_makes_none(self, world, refused):
        world.cloud.calls.clear()
        fields = {"min": 0} if refused is MalformedParameter else {"min": 9, "max": 9}
        with pytest.raises(refused):
            world.reserve(whole_hosts(before_end="snapshot", **fields))
        assert "create_trust" not in world.cloud.calls

    def test_keystone_that_makes_none_is_told_and_nothing_is_left(self, world):
        with pytest.raises(CloudRefused, match="lacks a role"):
            self.snapshots(world, caller=replace(DEMO, roles=("admin",)))
        world.run_due()
        assert not world.leases.list(None)
        world.reserve(whole_hosts(min=4, max=4))

    def test_a_deleted_user_delays_nothing(self, world):
        lease = self.snapshots(world)
        world.run_due()
        world.cloud.boot("mine", "host1")
        world.cloud.state.gone_users.add(DEMO.user_id)
        world.advance(minutes=61)
        assert world.event_statuses(lease)["before_end_lease"] == "ERROR"
        assert "no longer valid" in str([e.reason for e in world.lease(lease).events])
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        world.advance(minutes=61)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert not world.cloud.state.images

    def test_an_update_renews_one_that_is_not_valid_any_more(self, world):
        lease = self.snapshots(world)
        world.cloud.state.trusts.clear()
        updated = world.update(lease, end=world.in_minutes(110))
        assert updated.trust_id in world.cloud.state.trusts
        assert updated.trust_id != lease.trust_id

    def test_one_that_is_not_valid_any_more_keeps_nobody_from_ending_the_lease_now(self, world):
        lease = self.snapshots(world)
        world.advance(minutes=5)
        world.cloud.state.trusts.clear()
        world.update(lease, end=NOW)
        world.run_due()
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert not world.cloud.state.trusts

    def test_an_update_keeps_one_that_is_valid(self, world):
        lease = self.snapshots(world)
        assert world.update(lease, end=world.in_minutes(110)).trust_id == lease.trust_id
        assert set(world.cloud.state.trusts) == {lease.trust_id}

    def test_prolonging_the_lease_replaces_it(self, world):
        lease = self.snapshots(world)
        longer = world.update(lease, end=world.in_minutes(60 * 24 * 90))
        assert set(world.cloud.state.trusts) == {longer.trust_id}
        assert world.cloud.state.trusts[longer.trust_id].expires_at > longer.interval.end

    def test_an_operator_changes_the_lease_and_the_trust_stays_the_users(self, world):
        lease = self.snapshots(world)
        assert world.update(lease, caller=ADMIN, end=world.in_minutes(240)).trust_id == lease.trust_id

    def test_asking_for_snapshots_later_makes_one_and_giving_them_up_removes_it(self, world):
        lease = world.create(end=120)
        asked = world.update(lease, reservations=change(lease, before_end="snapshot"))
        assert set(world.cloud.state.trusts) == {asked.trust_id}
        given_up = world.update(lease, reservations=change(lease, before_end=""))
        assert given_up.trust_id is None
        assert not world.cloud.state.trusts

    def test_a_refused_update_makes_none(self, world):
        lease = world.create(end=120)
        with pytest.raises(BlazarError):
            world.update(lease, reservations=change(lease, before_end="snapshot", min=9, max=9))
        assert not world.cloud.state.trusts
        assert world.lease(lease).trust_id is None

    def test_one_that_cannot_be_removed_now_is_removed_later(self, world):
        lease = self.snapshots(world)

        def fail(call):
            if call == "delete_trust":
                raise CloudUnavailable(service="Keystone", reason="503")

        world.cloud.before = fail
        world.advance(minutes=121)
        assert world.lease(lease).status is LeaseStatus.TERMINATING
        world.cloud.before = lambda call: None
        world.advance(minutes=5)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert not world.cloud.state.trusts
