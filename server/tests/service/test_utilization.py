"""Looks at what active reservations use, and reports of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from blazar.domain.errors import CloudUnavailable, InvalidInput
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.utilization import Utilization
from blazar.domain.time import MINUTE
from blazar.engine.sampling import SamplingDuty
from blazar.service.commands import (
    NOW,
    ClaimByWish,
    CreateLease,
    ReservationRequest,
    ReservationsChange,
    UpdateLease,
)
from blazar.service.ports import UsageRow
from blazar.service.ports.kind import Dependencies
from blazar.service.utilization import Sampling, UsageUseCases, UsageWish

from .test_new_servers import new as new_server
from .test_new_servers import with_image
from .test_server_leases import WEB, adopted, with_server
from .world import ALT, DEMO, Crash, Steps, World, floating_ips, instances, servers, whole_hosts

TEN = timedelta(minutes=10)


def sampling(world: World) -> Sampling:
    return Sampling(Dependencies(world.database, world.cloud, world.kinds, world.clock))


def look(world: World, check: Callable[[], None] = lambda: None) -> int:
    return sampling(world).look(check)


def started(
    world: World, *requests: ReservationRequest, minutes: float = 60, caller: Any = DEMO, boots: float = 0
) -> Lease:
    command = CreateLease("used", NOW, world.in_minutes(minutes), None, requests)
    lease = world.leases.create(command, caller)
    world.advance(seconds=boots)
    assert world.lease(lease).status is LeaseStatus.ACTIVE
    return lease


def known(world: World, lease: Lease) -> list[Utilization]:
    with world.database.read() as uow:
        return list(uow.utilizations.of_leases([lease.id]))


def rows(world: World, **wish: Any) -> list[tuple[Any, ...]]:
    """Kind, leases, no-shows, and hours that were promised, known and used."""
    report = UsageUseCases(world.database, world.clock).get(UsageWish(**wish))
    return [(each.resource_type, each.leases, each.no_shows, *in_hours(each)) for each in report.rows]


def in_hours(row: UsageRow) -> tuple[float, float, float]:
    return round(row.promised / 3600, 2), round(row.known / 3600, 2), round(row.used / 3600, 2)


def away(call: str) -> None:
    raise CloudUnavailable(service="Nova", reason="it is away")


def meanwhile(world: World, action: Callable[[], Any]) -> None:
    """Do something else before the next request to the cloud, once."""

    def once(call: str) -> None:
        world.cloud.before = lambda _: None
        action()

    world.cloud.before = once


def use(world: World, lease: Lease) -> None:
    """Use one unit of the lease."""
    reservation = world.lease(lease).reservations[0]
    match reservation.resource_type:
        case "physical:host":
            (aggregate,) = (a for a in world.cloud.state.aggregates.values() if a.name == reservation.id)
            world.cloud.boot("mine", aggregate.hosts[-1])
        case "virtual:floatingip":
            found = min(world.cloud.state.floating_ips.values(), key=lambda each: each.address)
            world.cloud.state.floating_ips[found.id] = replace(found, port_id="port")
        case _:
            world.cloud.boot_reserved("mine", reservation.id)


@pytest.mark.parametrize(
    "request_",
    [whole_hosts(min=2, max=2), instances(amount=2), servers(amount=2), floating_ips(amount=2)],
    ids=["hosts", "instances", "flavor", "floating IPs"],
)
def test_what_is_used_of_each_kind_is_added_up(request_: ReservationRequest) -> None:
    world = World(floating_ips=4)
    lease = started(world, request_)
    world.advance(minutes=30)
    assert look(world) == 1
    use(world, lease)
    world.advance(minutes=30, seconds=-10)
    look(world)
    (found,) = known(world, lease)
    assert (found.units, found.used_now) == (2, 1)
    world.advance(seconds=40)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert rows(world) == [(request_.resource_type, 1, 0, 2, 2, 0.5)]


def test_servers_that_are_reserved_are_used_while_they_are_on_their_hosts() -> None:
    world = with_image(with_server(World()))
    new, there = started(world, new_server(amount=2), boots=10), started(world, adopted(), boots=10)
    world.advance(minutes=15)
    look(world)
    assert [each.used_now for lease in (new, there) for each in known(world, lease)] == [2, 1]
    for name in ("web-1", WEB):
        server = next(each for each in world.cloud.state.servers.values() if each.name == name)
        world.cloud.state.servers[server.id] = replace(server, status="SHELVED_OFFLOADED", host=None)
    world.advance(minutes=15)
    look(world)
    assert [each.used_now for lease in (new, there) for each in known(world, lease)] == [1, 0]


def test_a_lease_that_is_never_used_is_a_no_show() -> None:
    world = World()
    lease = started(world, whole_hosts())
    for _ in range(3):
        world.advance(minutes=15)
        look(world)
    assert rows(world)[0][2] == 0
    world.advance(minutes=15)
    assert rows(world) == [("physical:host", 1, 1, 1, 1, 0)]
    assert [each.is_no_show for each in known(world, lease)] == [True]


def test_a_server_of_another_project_is_no_use() -> None:
    world = World()
    lease = started(world, whole_hosts())
    world.cloud.boot("theirs", f"host{next(iter(world.hosts_of(lease)))}", project_id="alt")
    world.advance(minutes=15)
    look(world)
    assert rows(world) == [("physical:host", 1, 0, 0.25, 0.25, 0)]


def test_what_nothing_has_looked_at_is_unknown_and_no_no_show() -> None:
    world = World()
    lease = started(world, whole_hosts())
    world.advance(minutes=60)
    assert world.lease(lease).status is LeaseStatus.TERMINATED
    assert rows(world) == [("physical:host", 1, 0, 1, 0, 0)]


def test_what_was_released_for_being_unused_is_a_no_show() -> None:
    world = World()
    command = CreateLease("claimed", NOW, world.in_minutes(600), None, (whole_hosts(),))
    world.leases.create(command, DEMO, claim_by=ClaimByWish(60 * MINUTE))
    world.advance(minutes=70)
    ((_, _, no_shows, promised, *_),) = rows(world)
    assert (no_shows, promised) == (1, 1.02)


def test_a_lease_that_is_deleted_is_kept_to_the_second() -> None:
    world = World()
    lease = started(world, whole_hosts())
    use(world, lease)
    world.advance(minutes=10)
    look(world)
    world.advance(minutes=5)
    world.delete(lease)
    world.advance(minutes=60)
    with world.database.read() as uow:
        assert not uow.leases.exists(lease.id)
    look(world)
    assert rows(world) == [("physical:host", 1, 0, 0.25, 0.25, 0.25)]


def test_a_lease_that_never_started_counts_nothing() -> None:
    world = World()
    lease = world.reserve(whole_hosts())
    world.delete(lease)
    look(world)
    assert rows(world) == []


@pytest.mark.parametrize("removes", [False, True], ids=["ended", "deleted"])
def test_a_lease_that_is_over_between_a_look_and_its_commit_stays_as_it_ended(removes: bool) -> None:
    world = World()
    lease = started(world, whole_hosts())
    world.advance(minutes=10)
    look(world)
    world.advance(minutes=20)

    def end() -> None:
        if removes:
            world.delete(lease)
        else:
            world.update(lease, end=NOW)
        world.run_due()

    meanwhile(world, end)
    look(world)
    (found,) = known(world, lease)
    assert (found.is_over, found.promised) == (True, 30 * 60)
    world.advance(minutes=90)
    look(world)
    assert known(world, lease) == [found]


def test_a_lease_that_is_deleted_before_its_first_look_is_committed_is_not_made_anew() -> None:
    world = World()
    lease = started(world, whole_hosts())
    world.advance(minutes=10)
    meanwhile(world, lambda: world.delete(lease))
    look(world)
    world.run_due()
    look(world)
    (found,) = known(world, lease)
    assert (found.is_over, found.promised, found.known) == (True, 600, 0)


def test_two_managers_that_look_at_once_count_once() -> None:
    world = World()
    lease = started(world, whole_hosts())
    use(world, lease)
    for _ in range(2):  # a row that is new, and one that is there
        world.advance(minutes=10)
        meanwhile(world, lambda: look(world))
        look(world)
    (found,) = known(world, lease)
    assert (found.promised, found.known, found.used) == (1200, 1200, 1200)


def test_while_the_cloud_does_not_answer_nothing_is_known() -> None:
    world = World()
    lease = started(world, whole_hosts(), minutes=600)
    world.advance(minutes=30)
    look(world)
    world.cloud.before = away
    for _ in range(4):
        world.advance(minutes=60)
        assert look(world) == 0
    world.cloud.before = lambda _: None
    use(world, lease)
    world.advance(minutes=30)
    look(world)
    (found,) = known(world, lease)
    assert (found.promised, found.known, found.used) == (300 * 60, 90 * 60, 60 * 60)


def test_what_a_program_of_the_version_before_ends_and_removes_is_found() -> None:
    world = World()
    ending, removed = started(world, whole_hosts()), started(world, whole_hosts(), minutes=600)
    world.advance(minutes=40)
    look(world)
    as_before = [known(world, each)[0] for each in (ending, removed)]
    world.advance(minutes=40)
    world.delete(removed)
    world.run_due()
    # As if nothing had been written.
    now = [known(world, each)[0] for each in (ending, removed)]
    world.database.transact(lambda uow: uow.utilizations.save([*zip(now, as_before, strict=True)]))
    look(world)
    (over,), (gone,) = known(world, ending), known(world, removed)
    assert (over.is_over, over.is_no_show, over.promised) == (True, True, 60 * 60)
    assert (gone.is_over, gone.is_no_show, gone.promised) == (True, True, 40 * 60)


def test_a_report_is_of_some_projects_users_and_kinds() -> None:
    world = World()
    started(world, whole_hosts())
    started(world, instances(amount=2), caller=ALT)
    world.advance(minutes=30)
    look(world)
    assert [each[0] for each in rows(world)] == ["virtual:instance", "physical:host"]
    assert rows(world, project_id="alt") == [("virtual:instance", 1, 0, 1, 1, 0)]
    assert rows(world, resource_type="physical:host") == [("physical:host", 1, 0, 0.5, 0.5, 0)]
    assert rows(world, user_id="stranger") == []


def test_a_window_is_bounded() -> None:
    world = World()
    started(world, whole_hosts())
    world.advance(minutes=30)
    look(world)
    assert rows(world, end=world.in_minutes(9000)) == [("physical:host", 1, 0, 0.5, 0.5, 0)]
    assert rows(world, start=world.in_minutes(-15)) == [("physical:host", 1, 0, 0.25, 0.25, 0)]
    for start in (world.in_minutes(0), world.in_minutes(5)):
        with pytest.raises(InvalidInput, match="is to begin before it ends, and before now"):
            rows(world, start=start)
    with pytest.raises(InvalidInput, match="at most 366 days"):
        rows(world, start=world.in_minutes(-367 * 24 * 60))


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    started(world, whole_hosts(), instances(amount=1))
    world.advance(minutes=30)
    look(world)
    monkeypatch.setattr("blazar.service.utilization.MOST_ROWS", 1)
    with pytest.raises(InvalidInput, match="more than 1 rows"):
        rows(world)


def duty(world: World) -> SamplingDuty:
    return SamplingDuty(
        world.database,
        sampling(world),
        world.clock,
        TEN,
        monotonic=lambda: world.clock.now().timestamp(),
    )


def test_one_manager_looks_and_another_goes_on_when_it_is_gone() -> None:
    world = World()
    lease = started(world, whole_hosts(), minutes=600)
    one, other = duty(world), duty(world)
    use(world, lease)
    world.advance(minutes=10)
    assert one.round() == 60
    assert other.round() == 60
    (first,) = known(world, lease)
    world.advance(minutes=5)
    other.round()
    assert known(world, lease) == [first]
    world.advance(minutes=6)
    other.round()
    (second,) = known(world, lease)
    assert second.used == second.known == second.promised > first.used


def test_what_a_manager_that_dies_in_the_middle_has_found_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setattr("blazar.service.utilization.AT_ONCE", 1)
    leases = [started(world, whole_hosts(), minutes=600) for _ in range(2)]
    steps = Steps(crash_at=2)
    world.cloud.before = lambda _: steps.step()
    world.advance(minutes=10)
    with pytest.raises(Crash):
        duty(world).round()
    world.cloud.before = lambda _: None
    assert sorted(len(known(world, each)) for each in leases) == [0, 1]
    world.advance(minutes=10)  # the duty of the dead one is free by then
    duty(world).round()
    assert [each.promised for one in leases for each in known(world, one)] == [1200, 1200]


def test_a_manager_that_is_stopped_gives_the_duty_back() -> None:
    world = World()
    lease = started(world, whole_hosts(), minutes=600)
    one = duty(world)
    one.stop()
    one.round()
    assert known(world, lease) == []
    duty(world).round()
    assert len(known(world, lease)) == 1


def test_while_one_service_is_away_the_others_are_looked_at() -> None:
    world = World(floating_ips=9)
    addresses = started(world, *[floating_ips(amount=1)] * 8, minutes=600)
    hosts = started(world, whole_hosts(), minutes=600)

    def neutron_is_away(call: str) -> None:
        if call == "floating_ips":
            raise CloudUnavailable(service="Neutron", reason="it is away")

    world.advance(minutes=10)
    world.cloud.before = neutron_is_away
    before = world.cloud.calls.count("floating_ips")
    assert duty(world).round() == 60
    assert world.cloud.calls.count("floating_ips") - before == 6  # of eight
    assert (len(known(world, hosts)), known(world, addresses)) == (1, [])
    world.cloud.before = lambda _: None
    world.advance(minutes=10)
    assert look(world) == 9


def test_while_the_database_is_away_there_is_a_pause() -> None:
    world = World()
    started(world, whole_hosts(), minutes=600)
    one = duty(world)

    def away_when_asked(call: str) -> None:
        raise CloudUnavailable(service="database", reason="it is away")

    world.cloud.before = lambda _: setattr(world.database, "step", lambda: away_when_asked(""))
    assert one.round() == SamplingDuty.first_pause
    world.database.step = lambda: None
    world.cloud.before = lambda _: None
    assert one.round() == 60
    assert one.health().name == "sampling"


def test_a_long_look_holds_the_duty_and_ends_when_it_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    lease = started(world, whole_hosts(), whole_hosts(), whole_hosts(), minutes=600)
    monkeypatch.setattr(SamplingDuty, "pace", 200.0)
    duty(world).round()
    assert len(known(world, lease)) == 3
    world.advance(minutes=30)
    before = known(world, lease)
    monkeypatch.setattr(SamplingDuty, "pace", 400.0)
    duty(world).round()
    assert known(world, lease) == before


def test_what_is_over_for_long_is_forgotten() -> None:
    world = World()
    lease = started(world, whole_hosts())
    world.advance(minutes=60)
    usage = UsageUseCases(world.database, world.clock)
    usage.forget(timedelta(days=1))
    assert known(world, lease)
    world.advance(minutes=25 * 60)
    usage.forget(timedelta(days=1))
    assert not known(world, lease)


def test_a_reservation_that_leaves_its_lease_is_over() -> None:
    world = World()
    lease = started(world, whole_hosts(), instances(amount=2), minutes=600)
    world.advance(minutes=30)
    look(world)
    gone = next(each.id for each in lease.reservations if each.resource_type == "physical:host")
    world.leases.update(lease.id, UpdateLease(), DEMO, membership=ReservationsChange((), (gone,)))
    world.run_due()
    world.advance(minutes=30)
    look(world)
    assert {each.reservation_id == gone: (each.is_over, each.promised) for each in known(world, lease)} == {
        True: (True, 30 * 60),
        False: (False, 2 * 60 * 60),
    }
