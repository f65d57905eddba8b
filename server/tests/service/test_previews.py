"""Leases that start as soon as there is enough, durations in place of ends, and dry runs of both."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.adapters.enforcement import MaxLeaseDurationFilter
from blazar.domain.errors import BlazarError, InvalidInput, NotEnoughResources, QuotaExceeded, UsageRefused
from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.calendars import Limits
from blazar.service.commands import (
    NOW,
    ByDuration,
    CreateLease,
    ReservationChange,
    ReservationRequest,
    UpdateLease,
)
from blazar.service.ports import ReportType
from blazar.service.ports.enforcement import UsageFilter
from blazar.service.quotas import QuotaSettings

from .world import ALT, DEMO, World, floating_ips, instances, servers, whole_hosts

HOUR = timedelta(hours=1)


def command(
    world: World, *reservations: ReservationRequest, start: float = 0, end: float = 60
) -> CreateLease:
    begin = world.in_minutes(start) if start else NOW
    return CreateLease("lease", begin, world.in_minutes(end), None, reservations)


def earliest(
    world: World, *reservations: ReservationRequest, hours: float = 1, latest_end: float | None = None
) -> Lease:
    latest = None if latest_end is None else world.in_minutes(latest_end)
    terms = ByDuration(hours * HOUR, earliest=True, latest_end=latest)
    return world.leases.create(command(world, *reservations), DEMO, terms)


def minutes(world: World, lease: Lease) -> tuple[int, int]:
    now, minute = world.in_minutes(0), timedelta(minutes=1)
    return (lease.interval.start - now) // minute, (lease.interval.end - now) // minute


def stored(world: World) -> object:
    with world.database.read() as uow:
        pools = {kind.pool for kind in world.kinds.values()}
        generations = [uow.resources.generations(pool) for pool in sorted(pools)]
        return uow.leases.list(), uow.outbox.depth(), generations, vars(world.cloud.state).copy()


def test_a_lease_starts_as_soon_as_there_is_enough() -> None:
    world = World(2)
    world.create(min=2, max=2, end=90)
    lease = earliest(world, whole_hosts())
    assert minutes(world, lease) == (90, 150)
    assert {a.interval for a in lease.allocations} == {lease.interval}
    times = {e.event_type: e.time for e in lease.events}
    assert times[EventType.START] == lease.interval.start
    assert times[EventType.END] == lease.interval.end
    world.advance(91)
    assert world.lease(lease).status is LeaseStatus.ACTIVE


def test_a_lease_that_is_prepared_in_the_cloud_starts_as_soon_as_there_is_enough() -> None:
    world = World(2)
    world.create(min=2, max=2, end=90)
    lease = earliest(world, instances(affinity=False, amount=2))
    assert (minutes(world, lease), lease.status) == ((90, 150), LeaseStatus.PENDING)
    assert {e.event_type for e in lease.events} >= {EventType.START, EventType.END}
    assert world.lease(lease).event(EventType.START).time == lease.interval.start


def test_the_latest_end_is_kept() -> None:
    world = World(1)
    world.create(end=90)
    with pytest.raises(NotEnoughResources, match="1 host matches, none of them are free"):
        earliest(world, whole_hosts(), latest_end=149)
    with pytest.raises(InvalidInput, match="cannot be over by its latest end"):
        earliest(world, whole_hosts(), latest_end=59)
    assert minutes(world, earliest(world, whole_hosts(), latest_end=150)) == (90, 150)


def test_quotas_and_filters_are_respected() -> None:
    world = World(2, quota=QuotaSettings({"hosts": 1}), filters=[MaxLeaseDurationFilter(7200)])
    world.create(end=90)
    assert minutes(world, earliest(world, whole_hosts())) == (90, 150)
    with pytest.raises(UsageRefused):
        earliest(world, whole_hosts(), hours=3)
    with pytest.raises(QuotaExceeded):
        earliest(world, whole_hosts(min=2, max=2))


def test_a_search_that_is_cut_short_is_a_shortage() -> None:
    world = World(2)
    world.create(min=2, max=2, end=90)
    world.calendars._limits = Limits(availability=5)
    with pytest.raises(NotEnoughResources, match="cut short"):
        earliest(world, whole_hosts())


def test_a_duration_stands_in_place_of_the_end() -> None:
    world = World()
    lease = world.leases.create(command(world, whole_hosts(), start=30), DEMO, ByDuration(2 * HOUR))
    assert minutes(world, lease) == (30, 150)
    changed = world.leases.update(lease.id, UpdateLease(), DEMO, HOUR)
    assert minutes(world, changed) == (30, 90)
    changed = world.leases.update(lease.id, UpdateLease(start=world.in_minutes(60)), DEMO, 3 * HOUR)
    assert minutes(world, changed) == (60, 240)
    assert world.leases.update(lease.id, UpdateLease(), DEMO, 3 * HOUR) == changed


class Books(UsageFilter):
    """A filter that keeps books, and refuses all."""

    reports = frozenset({ReportType.ENDED})

    def check_create(self, proposal: Any) -> None:
        raise UsageRefused("no")

    check_update = check_create


def test_a_dry_run_tells_what_would_be_and_does_nothing() -> None:
    world = World(floating_ips=1, filters=[Books()])
    asked = (whole_hosts(max=2), servers(amount=2, affinity=True), floating_ips())
    before = stored(world)
    shown = world.leases.preview_create(command(world, *asked), DEMO)
    assert shown.status is LeaseStatus.PENDING
    assert [sum(a.slots for a in r.allocations) for r in shown.reservations] == [2, 2, 1]
    assert stored(world) == before


def test_a_dry_run_of_an_update_tells_what_would_be_and_does_nothing() -> None:
    world = World(4)
    lease = world.create(min=1, max=1, start=30, end=90)
    world.create(min=2, max=2, start=30, end=90)
    before = stored(world)
    reservation = lease.reservations[0].id
    more = UpdateLease(reservations=(ReservationChange(reservation, {"min": 2, "max": 2}),))
    shown = world.leases.preview_update(lease.id, more, DEMO)
    assert len(shown.allocations) == 2
    with pytest.raises(NotEnoughResources):
        too_many = UpdateLease(reservations=(ReservationChange(reservation, {"min": 3, "max": 3}),))
        world.leases.preview_update(lease.id, too_many, DEMO)
    longer = world.leases.preview_update(lease.id, UpdateLease(), DEMO, 5 * HOUR)
    assert minutes(world, longer) == (30, 330)
    assert world.leases.preview_update(lease.id, UpdateLease(name="other"), DEMO).name == "other"
    assert world.leases.preview_update(lease.id, UpdateLease(start=lease.interval.start), DEMO) == lease
    assert stored(world) == before


def test_a_dry_run_is_refused_where_the_rights_are_missing() -> None:
    world = World()
    with pytest.raises(InvalidInput, match="with roles"):
        world.leases.preview_create(
            command(world, whole_hosts(before_end="snapshot")), replace(DEMO, roles=())
        )
    with pytest.raises(InvalidInput, match="scoped to the lease's project"):
        world.leases.preview_create(command(world, instances(affinity=False)), replace(DEMO, token=None))


REQUESTS = [
    (whole_hosts(min=2, max=2),),
    (whole_hosts(min=1, max=3),),
    (whole_hosts(min=4, max=4),),
    (instances(amount=12, vcpus=4), floating_ips(amount=2)),
    (whole_hosts(before_end="snapshot"),),
    (instances(amount=2, affinity=True),),
]


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5), st.integers(1, 4)), max_size=4),
    st.sampled_from(REQUESTS),
    st.sampled_from([{}, {"hosts": 2}, {"instances": 8}, {"leases": 2}]),
    st.sampled_from([None, ByDuration(HOUR), ByDuration(HOUR, earliest=True)]),
    st.sampled_from([DEMO, ALT]),
)
@settings(max_examples=examples(200), deadline=None)
def test_a_dry_run_ends_as_the_create_does(
    leases: list[tuple[int, int, int]],
    reservations: tuple[ReservationRequest, ...],
    limits: dict[str, int],
    by_duration: ByDuration | None,
    caller: Any,
) -> None:
    world = World(3, quota=QuotaSettings(limits), floating_ips=2)
    for hosts, start, length in leases:
        try:
            world.create(min=hosts, max=hosts, start=30 * start, end=30 * (start + length))
        except BlazarError:
            continue
    asked = command(world, *reservations)
    before = stored(world)
    try:
        shown: Lease | None = world.leases.preview_create(asked, caller, by_duration)
        refusal = ""
    except BlazarError as error:
        shown, refusal = None, f"{type(error)} {error.message}"
    assert stored(world) == before
    event("shown" if shown else "refused")
    if shown is None:
        with pytest.raises(BlazarError) as found:
            world.leases.create(asked, caller, by_duration)
        assert refusal == f"{type(found.value)} {found.value.message}"
        return
    made = world.leases.create(asked, caller, by_duration)
    assert made.interval == shown.interval
    assert made.resource_ids == shown.resource_ids
    assert made.quantities == shown.quantities
