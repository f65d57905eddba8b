"""Servers whose deletion Nova is at: they are not asked for again at each look, and nothing else waits for
that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blazar.adapters.memory.cloud import MemoryCloud
from blazar.domain.errors import CloudRefused
from blazar.domain.lease.lease import LeaseStatus
from blazar.kinds.deletions import ASK_AGAIN, Deletions
from blazar.service.commands import NOW, ReservationChange

from .world import World, instances


@pytest.fixture
def world() -> World:
    return World()


class Case:
    """Three servers, the deletion of two of which hangs."""

    def __init__(self) -> None:
        self.cloud = MemoryCloud(["host1"])
        self.now = 0.0
        self.deletions = Deletions(lambda: self.now)
        for name in ("one", "two", "three"):
            self.cloud.boot(name, "host1")
        self.cloud.state.hanging = {"one", "two"}

    def servers(self):
        return self.cloud.compute.servers_on("host1")

    def ask(self) -> int:
        """Return how many deletions Nova was asked for."""
        before = self.cloud.calls.count("delete_server")
        self.deletions.ask(self.servers(), self.cloud.compute)
        return self.cloud.calls.count("delete_server") - before


def test_what_nova_is_at_is_asked_for_every_minute():
    case = Case()
    assert case.ask() == 3
    for case.now in (1, 30, ASK_AGAIN - 1):
        assert case.ask() == 0
    case.now = ASK_AGAIN
    assert case.ask() == 2


def test_what_nova_has_given_up_is_asked_for_at_once():
    case = Case()
    case.ask()
    known = case.cloud.state.servers["one"]
    case.cloud.state.servers["one"] = replace(known, is_being_deleted=False)
    assert not case.deletions.are_under_way(case.servers())
    assert case.ask() == 1


def test_what_another_process_asked_for_is_asked_for_once_more():
    case = Case()
    case.ask()
    assert not Deletions(lambda: case.now).are_under_way(case.servers())


def test_where_nothing_is_left_nothing_is_under_way():
    case = Case()
    assert not case.deletions.are_under_way([])


def test_what_is_remembered_does_not_grow():
    case = Case()
    for number in range(100):
        case.cloud.boot(f"server{number}", "host1")
        case.now += ASK_AGAIN / 2
        case.deletions.ask(case.servers(), case.cloud.compute)
    assert len(case.deletions) <= 5


def test_a_server_that_comes_while_the_end_waits_is_deleted_at_the_next_look(world):
    lease = world.create(end=60)
    world.run_due()
    world.cloud.boot("stuck", "host1", "demo")
    world.cloud.state.hanging.add("stuck")
    world.advance(minutes=70)
    world.cloud.boot("late", "host1", "demo")
    world.advance(seconds=31)
    assert list(world.cloud.state.servers) == ["stuck"]
    world.cloud.state.servers.clear()
    world.advance(seconds=31)
    assert world.lease(lease).status is LeaseStatus.TERMINATED


def test_strangers_on_a_host_that_an_operator_took_out_are_left_alone(world):
    lease = world.create(end=60, min=2, max=2)
    world.run_due()
    for host in ("host1", "host2"):
        world.cloud.boot(f"stuck-on-{host}", host, "demo")
        world.cloud.state.hanging.add(f"stuck-on-{host}")
    world.advance(minutes=70)
    aggregate = world.cloud.compute.find_aggregate(lease.reservations[0].id)
    world.cloud.state.servers.pop("stuck-on-host1")
    world.cloud.compute.remove_host(aggregate.id, "host1")
    world.cloud.boot("strangers", "host1", "strangers")
    world.advance(minutes=5)
    assert set(world.cloud.state.servers) == {"stuck-on-host2", "strangers"}


def test_an_end_of_slots_waits_with_one_look(world):
    lease = world.reserve(instances())
    world.run_due()
    reservation_id = lease.reservations[0].id
    world.cloud.boot_reserved("stuck", reservation_id)
    world.cloud.state.hanging.add("stuck")
    world.advance(minutes=70)
    world.cloud.calls.clear()
    world.advance(minutes=5)
    assert world.lease(lease).status is LeaseStatus.TERMINATING
    assert set(world.cloud.calls) == {"servers_of"}
    with pytest.raises(CloudRefused):
        world.cloud.boot_reserved("late", reservation_id)


def test_an_end_does_not_wait_for_servers_on_a_host_that_the_lease_never_got(world):
    lease = world.create(end=60)
    world.run_due()
    for host in sorted(world.in_freepool()):
        world.cloud.boot(f"before-{host}", host, "alt")
        world.cloud.state.hanging.add(f"before-{host}")
    world.update(lease, reservations=(ReservationChange(lease.reservations[0].id, {"min": 2, "max": 2}),))
    world.run_due()
    assert any(server.is_being_deleted for server in world.cloud.state.servers.values())
    world.advance(minutes=2)
    world.update(lease, end=NOW)
    world.advance(seconds=31)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
