"""How late a lease may end: as late as an update would take, and not a minute later."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st

from blazar.domain.errors import BlazarError, InvalidInput, QuotaExceeded
from blazar.domain.lease.lease import Lease
from blazar.service.commands import ReservationRequest, UpdateLease
from blazar.service.leases.settings import LateBindingSettings
from blazar.service.quotas import QuotaSettings

from .world import DEMO, World, instances, whole_hosts

MINUTE = timedelta(minutes=1)
KEPT = LateBindingSettings(is_on=False)
WISHES = st.sampled_from(
    [whole_hosts(), whole_hosts(min=1, max=2), whole_hosts(min=2, max=2), instances(amount=2)]
)


def latest_end(world: World, lease: Lease, latest: datetime) -> datetime:
    return world.explanations.find_latest_end(lease.id, UpdateLease(), DEMO, latest)


@settings(max_examples=examples(100), deadline=None)
@given(
    WISHES,
    st.lists(st.tuples(WISHES, st.integers(60, 500), st.integers(1, 100)), max_size=5),
    st.sampled_from((0, 0, 10)),
    st.booleans(),
)
def test_an_update_takes_it_and_no_later_one(
    wish: ReservationRequest,
    others: list[tuple[ReservationRequest, int, int]],
    cleaning: int,
    has_begun: bool,
) -> None:
    world = World(3, late_binding=KEPT, cleaning=cleaning * MINUTE)
    latest = world.in_minutes(600)
    lease = world.reserve(wish, start=5, end=60)
    for other, start, length in others:
        try:
            world.reserve(other, start=start, end=start + length)
        except BlazarError:
            event("no room for another")
    if has_begun:
        world.clock.move_to(world.in_minutes(6))
        world.run_due()
    found = latest_end(world, lease, latest)
    event("as asked" if found == latest else "until another")
    assert world.update(lease, end=found).interval.end == found
    if found < latest:
        with pytest.raises(BlazarError):
            world.update(lease, end=found + MINUTE)


def test_a_quota_ends_it_sooner() -> None:
    world = World(1, quota=QuotaSettings({"hosts_hours": 2}))
    lease = world.create(start=60, end=120)
    end = latest_end(world, lease, world.in_minutes(600))
    assert end == world.in_minutes(180)
    with pytest.raises(QuotaExceeded):
        world.update(lease, end=end + MINUTE)


def test_one_that_ends_later_is_not_shortened() -> None:
    world = World(1)
    lease = world.create(start=60, end=120)
    with pytest.raises(InvalidInput, match="ends later than latest_end already"):
        latest_end(world, lease, world.in_minutes(119))


def test_where_nothing_more_is_free_it_keeps_its_end() -> None:
    world = World(1)
    lease = world.create(start=60, end=120)
    world.create(start=120, end=180)
    assert latest_end(world, lease, world.in_minutes(600)) == lease.interval.end
