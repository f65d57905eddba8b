"""Servers that exist, in reservations: shelved until the start, on their host until the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.domain.errors import (
    CantUpdateParameter,
    CloudRefused,
    CloudUnavailable,
    MalformedParameter,
    MissingParameter,
    NotEnoughResources,
)
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.kinds.server.errors import ServerNotFound, ServerNotReservable
from blazar.service.commands import ReservationChange, ReservationRequest
from blazar.service.ports import Flavor

from .test_members import add, remove
from .world import ALT, World, instances

WEB = "11111111-1111-4111-8111-111111111111"
ORDINARY = "ordinary"


@pytest.fixture
def world() -> World:
    return with_server(World())


def with_server(world: World) -> World:
    """A server of 2 VCPUs, 2 GiB and 10 GiB on a host that is not kept for reservations."""
    world.cloud.add_hypervisor("9", ORDINARY)
    world.cloud.boot(WEB, ORDINARY)
    world.cloud.state.flavor_of[WEB] = "small"
    return world


def adopted(**fields) -> ReservationRequest:
    return ReservationRequest("instance:server", {"server_id": WEB, "on_end": ["shelve"]} | fields)


def only(lease):
    (reservation,) = lease.reservations
    return reservation


def web(world):
    return world.cloud.state.servers[WEB]


def status(world, lease):
    return world.lease(lease).status


def host_of(world, lease):
    (host_id,) = world.hosts_of(lease)
    return f"host{host_id}"


def slow(world):
    world.cloud.state.slow.add(WEB)


def restless(world, seconds=5):
    """Let Nova complete what it is doing, and the manager see it."""
    world.advance(seconds=seconds)
    world.cloud.settle(WEB)
    world.advance(seconds=seconds)


def nothing_left(world):
    state = world.cloud.state
    assert {a.name for a in state.aggregates.values()} == {"freepool"}
    assert not state.trusts
    marked = [server_id for server_id, metadata in state.server_metadata.items() if metadata]
    put_away = {each.id for each in state.servers.values() if each.status == "SHELVED_OFFLOADED"}
    assert set(marked) <= put_away, "Nova lets no mark be taken from these"
    with world.database.read() as uow:
        marks = [state.server_metadata[each]["blazar_reservation"] for each in marked]
        assert not uow.leases.unfinished_reservations(marks)


class TestLife:
    def test_it_waits_shelved_runs_on_its_host_and_is_shelved_again(self, world):
        lease = world.reserve(adopted(), start=30, end=90)
        assert web(world).status == "ACTIVE", "nothing is done within the request"
        world.advance(minutes=1)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.PENDING)
        assert world.lease(lease).event(EventType.READY) is None
        world.advance(minutes=30)
        assert (web(world).status, web(world).host) == ("ACTIVE", host_of(world, lease))
        assert status(world, lease) is LeaseStatus.ACTIVE
        assert all(a.bound for a in world.lease(lease).allocations)
        world.advance(minutes=60)
        assert (web(world).status, web(world).host) == ("SHELVED_OFFLOADED", None)
        assert status(world, lease) is LeaseStatus.TERMINATED
        nothing_left(world)

    def test_one_that_starts_now_moves_to_its_host(self, world):
        lease = world.reserve(adopted())
        world.advance(seconds=10)
        assert (web(world).status, web(world).host) == ("ACTIVE", host_of(world, lease))
        assert status(world, lease) is LeaseStatus.ACTIVE

    def test_one_that_is_put_away_already_is_left_so_until_its_start(self, world):
        world.cloud.compute.shelve_server(WEB)
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=31)
        assert web(world).host == host_of(world, lease)

    def test_a_cloud_that_leaves_shelved_servers_on_their_hosts(self, world):
        world.cloud.state.without_offload = True
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        assert web(world).status == "SHELVED_OFFLOADED"
        world.advance(minutes=61)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.TERMINATED)

    def test_its_capacity_is_refused_to_others_from_the_creation_on(self):
        world = with_server(World(hosts=1))
        world.reserve(adopted(), start=30, end=90)
        most = {"vcpus": 6, "memory_mb": 1024}
        world.reserve(instances(**most), start=30, end=90)
        with pytest.raises(NotEnoughResources):
            world.reserve(instances(vcpus=1), start=60, end=70)

    def test_the_lease_waits_until_it_runs(self, world):
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        slow(world)
        world.advance(minutes=29, seconds=30)
        stored = world.lease(lease)
        assert stored.status is LeaseStatus.STARTING
        assert "Nova is at server" in stored.status_reason
        assert not any(a.bound for a in stored.allocations)
        world.cloud.settle(WEB)
        world.advance(seconds=40)
        assert status(world, lease) is LeaseStatus.ACTIVE

    def test_images_and_shelving_are_the_users_own_acts(self, world):
        world.reserve(adopted(on_end=["create_image", "delete"]), start=30)
        world.advance(minutes=91)
        assert world.cloud.state.snapshots_by == ["demo-user"]
        (made,) = world.cloud.state.made_images
        assert made.project_id == "demo"


class TestEnd:
    @pytest.mark.parametrize(
        ("on_end", "calls"),
        [
            (["delete"], ["delete_server"]),
            (["delete", "create_image"], ["create_image", "delete_server"]),
            ("create_image, shelve", ["create_image", "shelve_server"]),
            (["stop", "delete"], ["stop_server", "delete_server"]),
            (["suspend", "shelve", "delete"], ["suspend_server", "shelve_server", "delete_server"]),
            (
                ["create_image", "suspend", "shelve", "stop", "delete"],
                ["create_image", "suspend_server", "shelve_server", "delete_server"],
            ),
        ],
    )
    def test_it_does_what_was_asked_for_in_its_order(self, world, on_end, calls):
        lease = world.reserve(adopted(on_end=on_end))
        world.advance(minutes=59)
        world.cloud.calls.clear()
        world.advance(minutes=2)
        acts = {"create_image", "suspend_server", "shelve_server", "stop_server", "delete_server"}
        assert [call for call in world.cloud.calls if call in acts] == calls
        assert (WEB in world.cloud.state.servers) is (calls[-1] != "delete_server")
        assert status(world, lease) is LeaseStatus.TERMINATED
        nothing_left(world)

    def test_nothing_is_deleted_before_its_image_is_there(self, world):
        lease = world.reserve(adopted(on_end=["create_image", "delete"]))
        world.advance(minutes=59)
        slow(world)
        world.advance(minutes=5)
        assert (web(world).status, len(world.cloud.state.made_images)) == ("ACTIVE", 1)
        assert "an image of server" in world.lease(lease).status_reason
        world.cloud.settle(WEB)
        world.advance(minutes=1)
        assert WEB not in world.cloud.state.servers
        assert len(world.cloud.state.made_images) == 1

    def test_where_no_image_can_be_made_it_is_shelved_and_not_deleted(self, world):
        lease = world.reserve(adopted(on_end=["create_image", "delete"]))
        world.advance(minutes=59)

        def fail(call):
            if call == "create_image":
                raise CloudRefused(service="Nova", reason="no quota for images")

        world.cloud.before = fail
        world.advance(minutes=10)
        assert (status(world, lease), web(world).status) == (LeaseStatus.TERMINATING, "ACTIVE")
        assert "no quota for images" in world.lease(lease).status_reason
        world.advance(minutes=10)
        assert (status(world, lease), web(world).status) == (LeaseStatus.TERMINATED, "SHELVED_OFFLOADED")
        nothing_left(world)

    def test_where_it_cannot_be_shelved_it_is_deleted_at_last(self, world):
        lease = world.reserve(adopted())
        world.advance(minutes=59)
        slow(world)
        world.advance(minutes=15)
        assert WEB in world.cloud.state.servers
        world.advance(minutes=3)
        assert WEB not in world.cloud.state.servers
        assert status(world, lease) is LeaseStatus.TERMINATED

    def test_unless_the_operator_wants_it_kept(self, world):
        kind = world.kinds["instance:server"]
        kind._departure._settings = replace(kind._departure._settings, deletes_at_last=False)
        lease = world.reserve(adopted())
        world.advance(minutes=59)
        slow(world)
        world.advance(minutes=120)
        assert status(world, lease) is LeaseStatus.TERMINATING
        world.cloud.settle(WEB)
        world.advance(minutes=1)
        assert status(world, lease) is LeaseStatus.TERMINATED
        assert web(world).status == "SHELVED_OFFLOADED"

    def test_a_trust_that_is_dead_keeps_no_host(self, world):
        lease = world.reserve(adopted())
        world.advance(minutes=59)
        world.cloud.state.gone_users.add("demo-user")
        world.advance(minutes=2)
        assert (status(world, lease), web(world).status) == (LeaseStatus.TERMINATED, "SHELVED_OFFLOADED")

    def test_a_cloud_that_is_away_is_waited_for(self, world):
        lease = world.reserve(adopted(on_end=["delete"]))
        world.advance(minutes=59)

        def away(call):
            raise CloudUnavailable(service="Nova", reason="away")

        world.cloud.before = away
        world.advance(minutes=30)
        assert status(world, lease) is LeaseStatus.TERMINATING
        world.cloud.before = lambda call: None
        world.advance(minutes=1)
        assert status(world, lease) is LeaseStatus.TERMINATED


class TestMeanwhile:
    def test_deleted_before_the_start(self, world):
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        world.cloud.compute.delete_server(WEB)
        world.advance(minutes=31)
        stored = world.lease(lease)
        assert stored.status is LeaseStatus.ERROR
        assert "is gone: it was deleted" in stored.status_reason
        world.advance(minutes=61)
        nothing_left(world)

    def test_deleted_while_it_runs(self, world):
        lease = world.reserve(adopted(on_end=["create_image", "delete"]))
        world.advance(minutes=1)
        world.cloud.compute.delete_server(WEB)
        world.reconcile_all()
        assert "is gone" in only(world.lease(lease)).status_reason
        assert world.lease(lease).degraded
        world.advance(minutes=60)
        assert status(world, lease) is LeaseStatus.TERMINATED
        nothing_left(world)

    def test_resized_to_more_than_is_kept(self, world):
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        world.cloud.add_flavor(Flavor("large", "large", 4, 2048, 10))
        world.cloud.state.flavor_of[WEB] = "large"
        world.advance(minutes=31)
        assert status(world, lease) is LeaseStatus.ERROR
        assert "was resized to 4 VCPU" in world.lease(lease).status_reason
        assert web(world).status == "SHELVED_OFFLOADED"

    def test_resized_to_less(self, world):
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        world.cloud.add_flavor(Flavor("less", "less", 1, 1024, 10))
        world.cloud.state.flavor_of[WEB] = "less"
        world.advance(minutes=31)
        assert status(world, lease) is LeaseStatus.ACTIVE

    def test_brought_up_by_its_user_before_the_start(self, world):
        """It runs, which is what it was promised: it is not interrupted for another host."""
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        world.cloud.compute.unshelve_server(WEB, ORDINARY)
        world.advance(minutes=31)
        assert (web(world).host, status(world, lease)) == (ORDINARY, LeaseStatus.ACTIVE)
        world.advance(minutes=60)
        assert web(world).status == "SHELVED_OFFLOADED"
        nothing_left(world)

    def test_put_away_by_its_user_while_the_lease_runs(self, world):
        lease = world.reserve(adopted())
        world.advance(minutes=1)
        world.cloud.compute.shelve_server(WEB)
        world.reconcile_all()
        world.advance(minutes=1)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.ACTIVE)
        assert not world.lease(lease).degraded

    def test_a_host_that_does_not_take_it_is_told_and_tried_again(self, world):
        world.start_retry = timedelta(minutes=5)
        world.restart()
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        (host_id,) = world.hosts_of(lease)
        world.cloud.set_service(f"host{host_id}", is_enabled=False)
        world.advance(minutes=30)
        stored = world.lease(lease)
        assert stored.status is LeaseStatus.STARTING
        assert f"did not bring server {WEB} up on host host{host_id}" in stored.status_reason
        world.cloud.set_service(f"host{host_id}")
        world.advance(minutes=2)
        assert status(world, lease) is LeaseStatus.ACTIVE
        assert world.cloud.calls.count("unshelve_server") >= 2

    def test_a_host_that_failed_is_replaced_before_the_start(self, world):
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        before = host_of(world, lease)
        world.cloud.set_service(before, is_up=False)
        for _ in range(10):
            world.look()
        after = host_of(world, lease)
        assert after != before
        world.advance(minutes=30)
        assert (web(world).host, status(world, lease)) == (after, LeaseStatus.ACTIVE)

    def test_a_host_that_fails_while_it_serves_is_an_administrators_to_leave(self, world):
        lease = world.reserve(adopted(), end=600)
        world.advance(minutes=1)
        before = host_of(world, lease)
        world.cloud.set_service(before, is_up=False)
        for _ in range(10):
            world.look()
        after = host_of(world, lease)
        assert after != before
        assert "has to evacuate it" in world.lease(lease).status_reason
        assert set(world.cloud.hosts_in(only(lease).id)) == {before, after}
        world.cloud.state.servers[WEB] = replace(web(world), host=after)
        world.advance(minutes=2)
        stored = world.lease(lease)
        assert (stored.status_reason, stored.degraded) == (None, False)
        assert world.cloud.hosts_in(only(lease).id) == (after,)

    def test_a_host_that_fails_while_nova_brings_it_up_there_is_an_administrators_to_leave(self, world):
        lease = world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        before = host_of(world, lease)
        slow(world)
        world.advance(minutes=29, seconds=10)
        world.cloud.set_service(before, is_up=False)
        for _ in range(10):
            world.look()
        after = host_of(world, lease)
        assert after != before
        restless(world, seconds=60)
        assert web(world).host == before
        assert "has to evacuate it" in world.lease(lease).status_reason
        assert set(world.cloud.hosts_in(only(lease).id)) == {before, after}
        world.cloud.state.servers[WEB] = replace(web(world), host=after)
        world.advance(minutes=2)
        assert (status(world, lease), world.lease(lease).status_reason) == (LeaseStatus.ACTIVE, None)
        assert world.cloud.hosts_in(only(lease).id) == (after,)


class TestCancel:
    def test_before_the_start_it_stays_shelved(self, world):
        lease = world.reserve(adopted(on_end=["delete"]), start=30)
        world.advance(minutes=1)
        world.delete(lease)
        world.advance(minutes=1)
        assert not world.leases.list(None)
        assert web(world).status == "SHELVED_OFFLOADED"
        nothing_left(world)
        world.reserve(adopted())

    def test_while_it_is_on_its_way(self, world):
        lease = world.reserve(adopted(on_end=["delete"]), start=30)
        world.advance(minutes=1)
        slow(world)
        world.advance(minutes=29, seconds=10)
        world.delete(lease)
        world.advance(seconds=10)
        assert world.leases.list(None), "its capacity is not given to others while it may come"
        world.cloud.settle(WEB)
        world.cloud.state.slow.clear()
        world.advance(minutes=1)
        assert not world.leases.list(None)
        assert web(world).status == "SHELVED_OFFLOADED"
        nothing_left(world)

    def test_while_it_runs_it_is_as_the_end(self, world):
        lease = world.reserve(adopted(on_end=["create_image", "delete"]))
        world.advance(minutes=1)
        world.delete(lease)
        world.advance(minutes=1)
        assert not world.leases.list(None)
        assert WEB not in world.cloud.state.servers
        assert len(world.cloud.state.made_images) == 1
        nothing_left(world)

    def test_after_the_end_nothing_is_done(self, world):
        lease = world.reserve(adopted())
        world.advance(minutes=61)
        world.cloud.compute.unshelve_server(WEB, ORDINARY)
        world.delete(lease)
        world.advance(minutes=1)
        assert web(world).host == ORDINARY

    def test_a_start_that_was_missed_deletes_nothing(self, world):
        lease = world.reserve(adopted(on_end=["delete"]), start=30, end=60)
        world.advance(minutes=1)
        world.clock.move_to(world.in_minutes(120))
        world.advance(minutes=1)
        assert status(world, lease) is LeaseStatus.TERMINATED
        assert web(world).status == "SHELVED_OFFLOADED"
        nothing_left(world)


class TestChanges:
    def test_extended_and_shortened(self, world):
        lease = world.reserve(adopted())
        world.advance(minutes=1)
        host = host_of(world, lease)
        lease = world.update(lease, end=world.in_minutes(120))
        world.advance(minutes=60)
        assert (web(world).host, status(world, lease)) == (host, LeaseStatus.ACTIVE)
        world.update(lease, end=world.in_minutes(10))
        world.advance(minutes=11)
        assert web(world).status == "SHELVED_OFFLOADED"

    def test_what_is_done_at_the_end_may_change(self, world):
        lease = world.reserve(adopted())
        world.advance(minutes=1)
        world.update(lease, reservations=(ReservationChange(only(lease).id, {"on_end": ["delete"]}),))
        world.advance(minutes=61)
        assert WEB not in world.cloud.state.servers

    def test_another_server_needs_another_lease(self, world):
        lease = world.reserve(adopted(), start=30)
        other = "22222222-2222-4222-8222-222222222222"
        with pytest.raises(CantUpdateParameter):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"server_id": other}),))


class TestLock:
    """Against accidents, if its user asks for it."""

    def test_from_the_shelving_to_the_end(self, world):
        lease = world.reserve(adopted(locked=True), start=30)
        world.advance(minutes=1)
        locked(world)
        world.advance(minutes=30)
        assert status(world, lease) is LeaseStatus.ACTIVE
        locked(world)
        world.advance(minutes=60)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.TERMINATED)
        assert not world.cloud.state.locked
        nothing_left(world)

    def test_one_that_starts_now(self, world):
        lease = world.reserve(adopted(locked=True, on_end=["create_image", "delete"]))
        world.advance(seconds=10)
        locked(world)
        world.delete(lease)
        world.advance(seconds=10)
        assert WEB not in world.cloud.state.servers
        assert world.cloud.state.images

    def test_its_user_may_unlock_it(self, world):
        world.reserve(adopted(locked=True), start=30)
        world.advance(minutes=1)
        world.cloud.compute.unlock_server(WEB)
        world.advance(minutes=31)
        assert web(world).status == "ACTIVE"
        assert not world.cloud.state.locked

    def test_a_lease_that_is_deleted_before_its_start_leaves_no_lock(self, world):
        lease = world.reserve(adopted(locked=True), start=30)
        world.advance(minutes=1)
        world.delete(lease)
        world.advance(minutes=1)
        assert not world.cloud.state.locked
        nothing_left(world)

    def test_nobody_locks_without_being_asked(self, world):
        world.reserve(adopted())
        world.advance(seconds=10)
        assert not world.cloud.state.locked

    def test_it_cannot_be_changed(self, world):
        lease = world.reserve(adopted(), start=30)
        with pytest.raises(CantUpdateParameter):
            world.update(lease, reservations=(ReservationChange(only(lease).id, {"locked": True}),))


def locked(world):
    with pytest.raises(CloudRefused, match="locked"):
        world.cloud.as_user("demo-token").compute.delete_server(WEB)


class TestRefusals:
    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"server_id": None}, MissingParameter),
            ({"server_id": "web"}, MalformedParameter),
            ({"server_id": 7}, MalformedParameter),
            ({"server_id": "../../flavors"}, MalformedParameter),
            ({"on_end": []}, MalformedParameter),
            ({"on_end": ["stop"]}, MalformedParameter),
            ({"on_end": ["suspend", "create_image"]}, MalformedParameter),
            ({"on_end": ["burn"]}, MalformedParameter),
            ({"on_end": {"delete": 1}}, MalformedParameter),
            ({"on_end": [["delete"]]}, MalformedParameter),
            ({"locked": "yes"}, MalformedParameter),
            ({"locked": 1}, MalformedParameter),
            ({"server_id": "33333333-3333-4333-8333-333333333333"}, ServerNotFound),
        ],
    )
    def test_what_is_no_reservation(self, world, fields, error):
        with pytest.raises(error):
            world.reserve(adopted(**fields))
        assert (web(world).status, world.leases.list(None)) == ("ACTIVE", [])

    def test_another_projects_server(self, world):
        with pytest.raises(ServerNotFound):
            world.reserve(adopted(), caller=ALT)

    @pytest.mark.parametrize("state", ["ERROR", "BUILD", "RESIZE", "VERIFY_RESIZE", "RESCUE"])
    def test_a_server_in_such_a_state(self, world, state):
        world.cloud.state.servers[WEB] = replace(web(world), status=state)
        with pytest.raises(ServerNotReservable, match=state):
            world.reserve(adopted())

    def test_a_server_that_is_locked(self, world):
        world.cloud.state.locked.add(WEB)
        with pytest.raises(ServerNotReservable, match="locked"):
            world.reserve(adopted())

    def test_a_server_of_another_lease(self, world):
        world.reserve(adopted(), start=30)
        world.advance(minutes=1)
        with pytest.raises(ServerNotReservable, match="is in reservation"):
            world.reserve(adopted(), start=200, end=300)

    def test_two_leases_at_once_for_one_server(self, world):
        """Both were checked before either had marked the server: one has it, the other one says why not."""
        first, second = world.reserve(adopted(), start=30), world.reserve(adopted(), start=30)
        world.advance(minutes=31)
        stored = [world.lease(first), world.lease(second)]
        assert sorted(each.status for each in stored) == [LeaseStatus.ACTIVE, LeaseStatus.ERROR]
        (refused,) = [each for each in stored if each.status is LeaseStatus.ERROR]
        assert "is in reservation" in refused.status_reason
        world.delete(refused)
        world.advance(minutes=1)
        assert web(world).status == "ACTIVE", "it is the other one's"

    def test_a_server_that_does_not_fit(self, world):
        world.cloud.add_flavor(Flavor("huge", "huge", 64, 2048, 10))
        world.cloud.state.flavor_of[WEB] = "huge"
        with pytest.raises(NotEnoughResources):
            world.reserve(adopted())
        assert web(world).status == "ACTIVE"

    def test_a_trust_that_dies_before_the_server_is_shelved(self, world):
        lease = world.reserve(adopted(), start=30)
        world.cloud.state.gone_users.add("demo-user")
        world.advance(minutes=1)
        stored = world.lease(lease)
        assert (stored.status, web(world).status) == (LeaseStatus.PENDING, "ACTIVE")
        assert "no longer valid" in stored.status_reason


def test_what_is_shown(world):
    lease = world.reserve(adopted(), start=30)
    kind = world.kinds["instance:server"]
    assert kind.render(only(lease)) == {
        "server_id": WEB,
        "server_name": WEB,
        "on_end": ["shelve"],
        "resource_properties": "",
        "locked": False,
        "vcpus": 2,
        "memory_mb": 2048,
        "disk_gb": 10,
        "aggregate_id": None,
    }
    assert kind.counted(only(lease)) == {"instances": 1, "vcpus": 2, "memory_mb": 2048}


def test_a_reservation_that_was_never_begun_is_deleted_with_its_lease(world):
    lease = world.reserve(adopted(), start=30)
    world.delete(lease)
    world.advance(minutes=1)
    assert not world.leases.list(None)
    nothing_left(world)
    assert only(lease).status is ReservationStatus.PENDING


class TestJoiningAndLeaving:
    """By an update that adds the reservation to a lease, or removes it."""

    def test_one_that_is_added_before_the_start_is_shelved_at_once(self, world):
        lease = world.create(start=30, end=90)
        add(world, lease, adopted())
        world.advance(minutes=1)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.PENDING)
        world.advance(minutes=31)
        assert (web(world).status, status(world, lease)) == ("ACTIVE", LeaseStatus.ACTIVE)
        world.advance(minutes=60)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.TERMINATED)
        nothing_left(world)

    def test_one_joins_an_active_lease_and_leaves_it(self, world):
        lease = world.create(end=90)
        world.advance(minutes=1)
        added = add(world, lease, adopted())
        world.advance(minutes=1)
        assert (web(world).status, status(world, lease)) == ("ACTIVE", LeaseStatus.ACTIVE)
        assert web(world).host != ORDINARY
        remove(world, added, 1)
        world.advance(minutes=1)
        assert (web(world).status, status(world, lease)) == ("SHELVED_OFFLOADED", LeaseStatus.ACTIVE)
        world.delete(lease)
        world.advance(minutes=2)
        nothing_left(world)
