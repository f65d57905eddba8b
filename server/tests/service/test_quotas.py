"""Quotas: what a project's leases may use, compared in the transaction that commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.domain.errors import BlazarError, InvalidInput, NotAuthorized, OutcomeUnknown, QuotaExceeded
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.quota import names_of
from blazar.service.commands import NOW, CreateLease, ReservationChange, ReservationRequest
from blazar.service.metrics import NoMetrics
from blazar.service.ports import UnitOfWork
from blazar.service.quotas import QuotaSettings

from .world import ALT, DEMO, START, World, floating_ips, instances, servers, whole_hosts


def limited(**limits: int) -> World:
    return World(6, quota=QuotaSettings(limits))


def use_of(world: World, name: str, project_id: str = "demo") -> tuple[int, int]:
    found = {each.name: each for each in world.quotas.get_usage(project_id)}[name]
    return found.now, found.peak


def stored(world: World) -> object:
    with world.database.read() as uow:
        return (
            uow.leases.list(),
            uow.outbox.depth(),
            uow.resources.generations(world.kinds["physical:host"].pool),
        )


@pytest.mark.parametrize(
    ("limits", "requests", "more", "told"),
    [
        ({"hosts": 3}, [whole_hosts(min=2, max=2)], whole_hosts(min=2, max=2), ("hosts", 3, 2, 2)),
        ({"instances": 3}, [instances(amount=2), servers()], instances(), ("instances", 3, 3, 1)),
        ({"vcpus": 7}, [instances(vcpus=3, amount=2)], servers(), ("vcpus", 7, 6, 2)),
        ({"memory_mb": 4096}, [servers()], instances(memory_mb=2049), ("memory_mb", 4096, 2048, 2049)),
        ({"leases": 1}, [whole_hosts()], instances(), ("leases", 1, 1, 1)),
    ],
)
def test_a_refusal_names_limit_use_and_request(
    limits: Mapping[str, int],
    requests: list[ReservationRequest],
    more: ReservationRequest,
    told: tuple[str, int, int, int],
) -> None:
    world = limited(**limits)
    world.reserve(*requests)
    before = stored(world)
    name, limit, used, asked = told
    sentence = f"{name}: the limit is {limit}, {used} are in use, and {asked} are asked for"
    with pytest.raises(QuotaExceeded, match=sentence):
        world.reserve(more)
    assert stored(world) == before
    world.reserve(more, caller=ALT)


class Refusals(NoMetrics):
    def __init__(self) -> None:
        self.limits: list[str] = []

    def quota_exceeded(self, limit: str) -> None:
        self.limits.append(limit)


def test_refusals_are_counted_by_limit() -> None:
    world, refusals = limited(hosts=1, vcpus=0), Refusals()
    world.quotas._quotas._metrics = refusals
    world.reserve(whole_hosts())
    for wanted in (whole_hosts(), whole_hosts(), instances()):
        with pytest.raises(QuotaExceeded):
            world.reserve(wanted)
    assert refusals.limits == ["hosts", "hosts", "vcpus"]


def test_floating_ips_count() -> None:
    world = World(floating_ips=3, quota=QuotaSettings({"floating_ips": 2}))
    world.reserve(floating_ips(amount=2))
    with pytest.raises(QuotaExceeded, match="floating_ips"):
        world.reserve(floating_ips())


def test_a_limit_is_of_each_instant() -> None:
    world = limited(hosts=2)
    world.create(start=0, end=60, min=2, max=2)
    world.create(start=60, end=120, min=1, max=1)
    with pytest.raises(QuotaExceeded, match="2 are in use, and 1 are asked for"):
        world.create(start=30, end=90, min=1, max=1)
    world.create(start=60, end=120, min=1, max=1)
    assert use_of(world, "hosts") == (2, 2)
    world.advance(61)
    assert use_of(world, "hosts") == (2, 2)
    assert use_of(world, "leases") == (2, 2)
    world.advance(60)
    assert use_of(world, "hosts") == (0, 0)
    world.create(min=2, max=2)


def test_without_a_limit_nothing_is_refused() -> None:
    world = World(6, quota=QuotaSettings({}))
    for _ in range(6):
        world.create()
    assert use_of(world, "hosts") == (6, 6)


# updates


def test_an_update_is_compared_with_what_it_adds() -> None:
    world = limited(hosts=3)
    lease = world.create(min=2, max=2)
    world.create(start=60, end=120, min=2, max=2)
    with pytest.raises(QuotaExceeded, match="2 are in use, and 2"):
        world.update(lease, end=world.in_minutes(90))
    (reservation,) = lease.reservations
    grown = (ReservationChange(reservation.id, {"min": 4, "max": 4}),)
    with pytest.raises(QuotaExceeded, match="0 are in use, and 4"):
        world.update(lease, reservations=grown)
    assert world.lease(lease) == lease
    world.update(lease, reservations=(ReservationChange(reservation.id, {"min": 3, "max": 3}),))
    assert use_of(world, "hosts") == (3, 3)


def test_a_lowered_limit_refuses_nothing_that_takes_no_more() -> None:
    world = limited(hosts=9)
    lease = world.create(start=10, end=60, min=3, max=3)
    world.quotas.set("demo", dict.fromkeys(world_names(world), 0))
    (reservation,) = lease.reservations
    world.update(lease, name="another")
    world.update(lease, end=world.in_minutes(50))
    world.update(lease, start=world.in_minutes(20))
    world.update(lease, before_end=world.in_minutes(40))
    world.update(lease, reservations=(ReservationChange(reservation.id, {"min": 2, "max": 2}),))
    with pytest.raises(QuotaExceeded):
        world.update(lease, end=world.in_minutes(55))
    world.advance(21)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    world.update(lease, end=NOW)
    world.delete(lease)


def world_names(world: World) -> list[str]:
    return list(world.quotas.get("demo").limits)


def test_what_is_given_back_can_be_had_again() -> None:
    world = limited(hosts=1, leases=1)
    world.delete(world.create(start=10))
    begun = world.create()
    world.advance(10)
    world.delete(begun)
    world.update(world.create(), end=NOW)
    world.advance(1)  # a lease lasts a minute at least
    world.create()


def test_healing_and_losing_resources_change_no_use() -> None:
    world = limited(hosts=2)
    lease = world.create(min=2, max=2)
    world.run_due()
    for host in world.hosts.list(DEMO):
        if host.id not in world.hosts_of(lease):
            world.hosts.unregister(host.id, DEMO)
    world.cloud.set_service("host1", is_up=False)
    for _ in range(5):
        world.look()
    assert world.lease(lease).degraded
    assert use_of(world, "hosts") == (2, 2)
    world.update(lease, name="less than promised")
    assert use_of(world, "hosts") == (2, 2)


# hours


def test_hours_of_a_window_count_what_is_over() -> None:
    world = World(6, quota=QuotaSettings({"hosts_hours": 10}, timedelta(hours=12)))
    world.create(end=120, min=3, max=3)
    world.advance(180)
    assert use_of(world, "hosts_hours") == (6, 6)
    with pytest.raises(QuotaExceeded, match="hosts_hours: the limit is 10, 6 are in use, and 5"):
        world.create(end=300)
    world.create(end=240)
    later = (12 + 2) * 60
    world.create(start=later, end=later + 60)


@pytest.mark.parametrize("how", ["end", "delete"])
def test_hours_that_were_used_stay_used(how: str) -> None:
    world = World(6, quota=QuotaSettings({"vcpus_hours": 8}))
    lease = world.reserve(instances(vcpus=2, amount=2), start=2, end=122)
    world.advance(62)
    if how == "end":
        world.update(lease, end=NOW)
    else:
        world.delete(lease)
    world.run_due()
    assert use_of(world, "vcpus_hours") == (4, 4)
    with pytest.raises(QuotaExceeded, match="vcpus_hours: the limit is 8, 4 are in use, and 5"):
        world.reserve(instances(vcpus=1), end=300)
    world.reserve(instances(vcpus=1), end=240)


def test_growing_counts_from_now_on() -> None:
    world = World(6, quota=QuotaSettings({"instances_hours": 4}))
    lease = world.reserve(instances(), start=2, end=122)
    world.advance(62)
    (reservation,) = lease.reservations
    with pytest.raises(QuotaExceeded, match="instances_hours: the limit is 4"):
        world.update(lease, reservations=(ReservationChange(reservation.id, {"amount": 4}),))
    world.update(lease, reservations=(ReservationChange(reservation.id, {"amount": 3}),))
    assert use_of(world, "instances_hours") == (1, 4)
    world.advance(1)
    world.delete(lease)
    world.run_due()
    assert use_of(world, "instances_hours") == (2, 2)


def test_what_is_spent_is_forgotten_after_the_window() -> None:
    world = World(quota=QuotaSettings({}, timedelta(hours=12)))
    lease = world.create()
    world.advance(30)
    world.delete(lease)
    world.quotas.forget_spent()
    assert use_of(world, "hosts_hours") == (1, 1)
    world.advance(12 * 60)
    world.quotas.forget_spent()
    with world.database.read() as uow:
        assert not uow.quotas.spent("demo", lease.interval)


# limits


def test_limits_of_a_projects_own() -> None:
    world = limited(hosts=1, leases=5)
    names = names_of(
        [
            "hosts",
            "instances",
            "vcpus",
            "memory_mb",
            "floating_ips",
            "volume_gigabytes",
            "volumes",
            "network_segments",
            "ports",
        ]
    )
    quota = world.quotas.get("demo")
    assert tuple(quota.limits) == names
    assert {name: n for name, n in quota.limits.items() if n != -1} == {"hosts": 1, "leases": 5}
    assert quota.own == {}
    world.quotas.set("demo", {"hosts": 2, "leases": -1})
    assert world.quotas.set("demo", {"vcpus": 7}).own == {"hosts": 2, "leases": -1, "vcpus": 7}
    world.create(min=2, max=2)
    with pytest.raises(QuotaExceeded):
        world.reserve(whole_hosts(min=2, max=2), caller=ALT)
    assert [(each.project_id, each.own) for each in world.quotas.list().quotas] == [
        ("demo", {"hosts": 2, "leases": -1, "vcpus": 7})
    ]
    assert world.quotas.set("demo", {"hosts": None}).own == {"leases": -1, "vcpus": 7}
    world.quotas.unset("demo")
    assert world.quotas.get("demo").own == {}
    assert not world.quotas.list().quotas


def test_an_unknown_limit_is_refused_and_nothing_is_set() -> None:
    world = limited()
    with pytest.raises(InvalidInput, match="There is no limit hots"):
        world.quotas.set("demo", {"hosts": 1, "hots": 1})
    assert not world.quotas.get("demo").own


# what may happen in between


def test_a_repeated_creation_finds_its_lease_though_the_quota_is_used_up_by_it() -> None:
    world = limited(leases=1)
    command = CreateLease("lease", NOW, world.in_minutes(60), None, (whole_hosts(),), id="a" * 36)
    assert world.leases.create(command, DEMO) == world.leases.create(command, DEMO)


def test_a_lost_commit_is_found_though_the_quota_is_used_up_by_it() -> None:
    world = limited(leases=1)
    lost = iter([False, True])

    def lose() -> None:
        if next(lost, False):
            raise OutcomeUnknown(service="database", reason="cut off")

    world.database.step = lose
    assert world.create().name == "lease"


def test_a_lease_of_the_version_before_counts() -> None:
    """It has no note of what it counts as."""
    world = limited(hosts=2)
    lease = world.create(start=10, end=60, min=2, max=2)

    def forget(uow: UnitOfWork) -> None:
        stored = uow.leases.get(lease.id)
        assert stored is not None
        assert stored.quantities == {"hosts": 2}
        uow.leases.save(replace(stored, quantities=None), stored, START)

    world.database.transact(forget)
    assert use_of(world, "hosts") == (0, 2)
    with pytest.raises(QuotaExceeded):
        world.create(start=30)
    world.update(lease, end=world.in_minutes(50))
    assert world.lease(lease).quantities == {"hosts": 2}


def test_the_refusal_reaches_an_api_of_the_version_before() -> None:
    """It knows the code, and this one tells the whole sentence."""
    refusal = QuotaExceeded("hosts", 1, 1, 1)
    revived = BlazarError.revive(refusal.code, refusal.fields)
    assert type(revived) is NotAuthorized
    assert revived.message == refusal.message
    assert NotAuthorized().message == "Not authorized"
