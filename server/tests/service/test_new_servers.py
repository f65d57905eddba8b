"""Servers that are booted at the start of their lease, and are gone at its end; and kill -9 between any two
steps of that."""

from __future__ import annotations

import base64
from datetime import timedelta

import pytest

from blazar.domain.errors import (
    CantUpdateParameter,
    CloudRefused,
    MalformedParameter,
    MissingParameter,
    NotEnoughResources,
)
from blazar.domain.lease.lease import LeaseStatus
from blazar.kinds.server.errors import ImageNotFound, ServerNetworkNotFound
from blazar.kinds.slots.errors import FlavorNotFound
from blazar.service.commands import ReservationChange, ReservationRequest
from blazar.service.ports import Image

from .test_crashes import dies_at_each_step
from .test_server_leases import nothing_left, only, status
from .world import ALT, World, instances

IMAGE = "44444444-4444-4444-8444-444444444444"
NETWORK = "55555555-5555-4555-8555-555555555555"
SECRET = base64.b64encode(b"#!/bin/sh\necho hidden").decode()


@pytest.fixture
def world() -> World:
    return with_image(World())


def with_image(world: World) -> World:
    world.cloud.state.public_images[IMAGE] = Image(IMAGE, "dummy", "active")
    world.cloud.add_network(NETWORK, is_external=False)
    return world


def new(**fields) -> ReservationRequest:
    given = {"server_name": "web", "image_id": IMAGE, "flavor_id": "small", "on_end": ["delete"]}
    return ReservationRequest("instance:server", given | fields)


def servers(world):
    return sorted(world.cloud.state.servers.values(), key=lambda server: server.name)


def booted(world):
    return world.cloud.calls.count("boot_server")


def hosts_of(world, lease):
    return {f"host{host_id}" for host_id in world.hosts_of(lease)}


def running(world, **fields):
    with_image(world)
    lease = world.reserve(new(**fields))
    world.advance(minutes=1)
    assert status(world, lease) is LeaseStatus.ACTIVE
    return lease


class TestLife:
    def test_it_is_booted_at_the_start_and_gone_at_the_end(self, world):
        lease = world.reserve(new(), start=30, end=90)
        world.advance(minutes=1)
        assert not servers(world)
        assert booted(world) == 0
        world.advance(minutes=30)
        (server,) = servers(world)
        assert (server.name, server.status, server.project_id) == ("web", "ACTIVE", "demo")
        assert {server.host} == hosts_of(world, lease)
        assert status(world, lease) is LeaseStatus.ACTIVE
        assert all(a.bound for a in world.lease(lease).allocations)
        world.advance(minutes=60)
        assert not servers(world)
        assert status(world, lease) is LeaseStatus.TERMINATED
        nothing_left(world)
        assert not world.cloud.state.classes
        assert "small" in world.cloud.state.flavors
        assert only(lease).id not in world.cloud.state.flavors

    def test_several_get_a_number_each(self, world):
        lease = running(world, amount=3)
        assert [server.name for server in servers(world)] == ["web-1", "web-2", "web-3"]
        assert booted(world) == 3
        shown = world.kinds["instance:server"].render(only(world.lease(lease)))
        assert shown["servers"] == [server.id for server in servers(world)]
        world.advance(minutes=60)
        nothing_left(world)

    def test_its_capacity_is_refused_to_others(self):
        world = with_image(World(hosts=1))
        world.reserve(new(amount=3), start=30, end=90)
        world.reserve(instances(vcpus=2, memory_mb=1024), start=30, end=90)
        with pytest.raises(NotEnoughResources):
            world.reserve(instances(vcpus=1), start=60, end=70)

    @pytest.mark.parametrize(
        ("on_end", "calls"),
        [
            (["delete"], ["delete_server"]),
            (["create_image", "delete"], ["create_image", "delete_server"]),
            ("suspend, delete", ["suspend_server", "delete_server"]),
            (["stop", "delete", "create_image"], ["create_image", "stop_server", "delete_server"]),
        ],
    )
    def test_what_was_asked_for_at_the_end(self, world, on_end, calls):
        lease = world.reserve(new(on_end=on_end))
        world.advance(minutes=59)
        world.cloud.calls.clear()
        world.advance(minutes=2)
        acts = {"create_image", "suspend_server", "shelve_server", "stop_server", "delete_server"}
        assert [call for call in world.cloud.calls if call in acts] == calls
        assert status(world, lease) is LeaseStatus.TERMINATED
        nothing_left(world)

    def test_each_of_several_has_its_image(self, world):
        world.reserve(new(amount=2, on_end=["create_image", "delete"]))
        world.advance(minutes=61)
        assert sorted(world.cloud.state.images) == ["reserved_web-1", "reserved_web-2"]
        assert set(world.cloud.state.snapshots_by) == {"demo-user"}
        nothing_left(world)

    def test_the_operators_default_is_translated(self, world):
        """What would be shelved is kept as an image."""
        lease = world.reserve(new(on_end=None))
        assert world.kinds["instance:server"].render(only(lease))["on_end"] == ["create_image", "delete"]

    def test_an_image_that_cannot_be_made_holds_no_capacity_for_ever(self, world):
        lease = running(world, on_end=["create_image", "delete"])

        def fail(call):
            if call == "create_image":
                raise CloudRefused(service="Nova", reason="no quota for images")

        world.cloud.before = fail
        world.advance(minutes=65)
        assert status(world, lease) is LeaseStatus.TERMINATING
        assert "no quota for images" in world.lease(lease).status_reason
        world.advance(minutes=15)
        assert status(world, lease) is LeaseStatus.TERMINATED
        nothing_left(world)

    def test_the_lease_waits_until_it_runs(self, world):
        world.cloud.state.slow.add("web")
        lease = world.reserve(new())
        world.advance(minutes=1)
        stored = world.lease(lease)
        assert (stored.status, servers(world)[0].status) == (LeaseStatus.STARTING, "BUILD")
        assert "server web is being booted" in stored.status_reason
        assert not any(a.bound for a in stored.allocations)
        world.cloud.settle(servers(world)[0].id)
        world.advance(seconds=40)
        assert status(world, lease) is LeaseStatus.ACTIVE
        assert booted(world) == 1

    def test_locked(self, world):
        running(world, locked=True)
        assert world.cloud.state.locked == {servers(world)[0].id}
        world.advance(minutes=60)
        nothing_left(world)


class TestFailures:
    @pytest.fixture
    def world(self, world):
        world.start_retry = timedelta(minutes=5)
        world.restart()
        return with_image(world)

    def test_a_boot_that_fails_is_told_and_tried_again(self, world):
        world.cloud.state.boot_fails = "the image cannot be read"
        lease = world.reserve(new())
        world.advance(minutes=2)
        stored = world.lease(lease)
        assert stored.status is LeaseStatus.STARTING
        assert "server web was not booted: the image cannot be read" in stored.status_reason
        assert booted(world) == 3
        world.cloud.state.boot_fails = None
        world.advance(minutes=3)
        assert status(world, lease) is LeaseStatus.ACTIVE
        assert [server.status for server in servers(world)] == ["ACTIVE"]

    def test_within_bounds(self, world):
        world.cloud.state.boot_fails = "the image cannot be read"
        lease = world.reserve(new())
        world.advance(minutes=30)
        stored = world.lease(lease)
        assert stored.status is LeaseStatus.ERROR
        assert "the image cannot be read" in stored.status_reason
        assert booted(world) <= 5
        before = booted(world)
        world.advance(minutes=40)
        assert booted(world) == before
        nothing_left(world)

    def test_a_quota_that_is_used_up(self, world):
        world.cloud.state.without_server_quota.add("demo")
        lease = world.reserve(new(amount=2))
        world.advance(minutes=1)
        assert "Quota exceeded for instances" in world.lease(lease).status_reason
        world.cloud.state.without_server_quota.clear()
        world.advance(minutes=2)
        assert status(world, lease) is LeaseStatus.ACTIVE
        assert len(servers(world)) == 2

    def test_a_trust_that_is_dead(self, world):
        lease = world.reserve(new(), start=30)
        world.cloud.state.gone_users.add("demo-user")
        world.advance(minutes=40)
        assert "no longer valid" in world.lease(lease).status_reason
        assert not servers(world)

    def test_a_host_that_fails_gets_a_new_server_elsewhere(self, world):
        lease = world.reserve(new(), end=600)
        world.advance(minutes=1)
        (before,) = servers(world)
        world.cloud.set_service(before.host, is_up=False)
        for _ in range(10):
            world.look()
        world.advance(minutes=1)
        (after,) = servers(world)
        assert (after.status, after.host != before.host) == ("ACTIVE", True)
        assert status(world, lease) is LeaseStatus.ACTIVE
        world.delete(lease)
        world.advance(minutes=1)
        nothing_left(world)


class TestMeanwhile:
    def test_one_that_its_user_deletes_is_not_booted_again(self, world):
        lease = running(world)
        world.cloud.compute.delete_server(servers(world)[0].id)
        world.reconcile_all()
        world.advance(minutes=5)
        assert not servers(world)
        world.advance(minutes=60)
        assert status(world, lease) is LeaseStatus.TERMINATED
        nothing_left(world)

    def test_while_another_one_is_on_its_way(self, world):
        world.cloud.state.slow.add("web-2")
        lease = world.reserve(new(amount=2))
        world.advance(seconds=30)
        world.cloud.compute.delete_server(servers(world)[0].id)
        world.advance(minutes=2)
        assert status(world, lease) is LeaseStatus.ERROR
        assert "server web-1 is gone" in world.lease(lease).status_reason
        assert booted(world) == 2

    def test_one_that_is_stopped_is_left_so(self, world):
        lease = running(world)
        world.cloud.compute.stop_server(servers(world)[0].id)
        world.reconcile_all()
        world.advance(minutes=1)
        assert (servers(world)[0].status, status(world, lease)) == ("SHUTOFF", LeaseStatus.ACTIVE)

    def test_the_second_of_two_requests_that_were_under_way_goes(self, world):
        """A manager that was taken for dead may have asked Nova as well."""
        world.cloud.state.slow.update(("web",))
        lease = world.reserve(new(), end=600)
        world.advance(seconds=10)
        first = servers(world)[0].id
        state = world.cloud.state
        late = "99999999-9999-4999-8999-999999999999"
        state.servers[late] = state.servers[first].__class__(
            late, "web", None, "ACTIVE", "demo", created="999999999"
        )
        state.flavor_of[late] = state.flavor_of[first]
        state.server_metadata[late] = dict(state.server_metadata[first])
        world.cloud.settle(first)
        world.advance(seconds=30)
        assert [server.id for server in servers(world)] == [first]
        assert status(world, lease) is LeaseStatus.ACTIVE

    def test_shortened_and_extended(self, world):
        lease = running(world)
        lease = world.update(lease, end=world.in_minutes(120))
        world.advance(minutes=60)
        assert (len(servers(world)), booted(world)) == (1, 1)
        world.update(lease, end=world.in_minutes(10))
        world.advance(minutes=11)
        nothing_left(world)


class TestCancel:
    def test_before_the_start_nothing_was_there(self, world):
        lease = world.reserve(new(), start=30)
        world.advance(minutes=1)
        world.delete(lease)
        world.advance(minutes=60)
        assert (booted(world), world.leases.list(None)) == (0, [])
        nothing_left(world)

    def test_while_it_is_booted_it_goes(self, world):
        world.cloud.state.slow.add("web")
        lease = world.reserve(new(on_end=["create_image", "delete"]))
        world.advance(seconds=20)
        world.delete(lease)
        world.advance(minutes=1)
        assert not world.leases.list(None)
        assert not world.cloud.state.images, "it never served"
        nothing_left(world)

    def test_while_it_runs_it_is_as_the_end(self, world):
        lease = running(world, on_end=["create_image", "delete"])
        world.delete(lease)
        world.advance(minutes=1)
        assert len(world.cloud.state.images) == 1
        nothing_left(world)


class TestCrashes:
    @pytest.mark.slow
    @pytest.mark.parametrize("amount", [1, 2])
    def test_no_server_is_booted_twice(self, amount):
        def waiting(world):
            with_image(world)
            return world.reserve(new(amount=amount), start=30, end=90)

        for world in dies_at_each_step(waiting, lambda w, _: w.advance(minutes=31)):
            world.advance(seconds=60)
            assert status(world, world.subject) is LeaseStatus.ACTIVE
            assert len(world.cloud.state.user_data) == amount, "all that were ever booted"
            assert len(servers(world)) == amount
            world.advance(minutes=60)
            assert status(world, world.subject) is LeaseStatus.TERMINATED
            nothing_left(world)

    def test_the_end(self):
        for world in dies_at_each_step(
            lambda w: running(w, on_end=["create_image", "delete"]), lambda w, _: w.advance(minutes=60)
        ):
            world.advance_to(world.subject.interval.end)
            world.advance(seconds=60)
            assert status(world, world.subject) is LeaseStatus.TERMINATED
            assert len(world.cloud.state.made_images) == 1
            assert not servers(world)
            nothing_left(world)


class TestRefusals:
    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"server_name": None}, MissingParameter),
            ({"image_id": None}, MissingParameter),
            ({"flavor_id": ""}, MissingParameter),
            ({"server_id": IMAGE}, MalformedParameter),
            ({"server_name": "a\nb"}, MalformedParameter),
            ({"image_id": "dummy"}, MalformedParameter),
            ({"amount": 0}, MalformedParameter),
            ({"amount": 101}, MalformedParameter),
            ({"networks": []}, MalformedParameter),
            ({"networks": "private"}, MalformedParameter),
            ({"networks": [{"uuid": NETWORK}]}, MalformedParameter),
            ({"user_data": "not base64!"}, MalformedParameter),
            ({"user_data": "A" * 65540}, MalformedParameter),
            ({"security_groups": "default"}, MalformedParameter),
            ({"security_groups": [7.5]}, MalformedParameter),
            ({"key_name": ["x"]}, MalformedParameter),
            ({"on_end": ["shelve"]}, MalformedParameter),
            ({"on_end": ["create_image"]}, MalformedParameter),
            ({"flavor_id": "nope"}, FlavorNotFound),
            ({"image_id": NETWORK}, ImageNotFound),
            ({"networks": [IMAGE]}, ServerNetworkNotFound),
        ],
    )
    def test_what_is_no_reservation(self, world, fields, error):
        with pytest.raises(error) as refusal:
            world.reserve(new(**fields))
        assert "not base64!" not in str(refusal.value)
        assert world.leases.list(None) == []

    @pytest.mark.parametrize(
        "changed", [{"amount": 2}, {"image_id": NETWORK}, {"user_data": SECRET}, {"key_name": "other"}]
    )
    def test_what_is_booted_cannot_be_changed(self, world, changed):
        lease = world.reserve(new(), start=30)
        with pytest.raises(CantUpdateParameter):
            world.update(lease, reservations=(ReservationChange(only(lease).id, changed),))

    def test_what_is_done_at_the_end_may_change(self, world):
        lease = running(world)
        changed = ReservationChange(only(lease).id, {"on_end": ["create_image", "delete"]})
        lease = world.update(lease, reservations=(changed,))
        with pytest.raises(MalformedParameter):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"on_end": ["shelve"]}),))
        world.advance(minutes=61)
        assert world.cloud.state.images == ["reserved_web"]

    def test_another_projects_image(self, world):
        lease = running(world, on_end=["create_image", "delete"])
        world.delete(lease)
        world.advance(minutes=1)
        (made,) = world.cloud.state.made_images
        with pytest.raises((ImageNotFound, MalformedParameter)):
            world.reserve(new(image_id=made.image.id), caller=ALT)


def test_user_data_reach_the_server_and_are_never_shown(world):
    lease = running(world, user_data=SECRET, networks=[NETWORK], key_name="mine", security_groups=["web"])
    (server,) = servers(world)
    assert world.cloud.state.user_data[server.id] == SECRET
    kind = world.kinds["instance:server"]
    assert kind.render(only(world.lease(lease))) == {
        "server_name": "web",
        "image_id": IMAGE,
        "flavor_id": "small",
        "amount": 1,
        "networks": [NETWORK],
        "key_name": "mine",
        "security_groups": ["web"],
        "has_user_data": True,
        "servers": [server.id],
        "on_end": ["delete"],
        "resource_properties": "",
        "locked": False,
        "vcpus": 2,
        "memory_mb": 2048,
        "disk_gb": 10,
        "aggregate_id": only(world.lease(lease)).cloud_state["aggregate_id"],
    }
    assert SECRET not in repr(kind.asked(only(lease)))
