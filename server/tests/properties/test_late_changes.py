"""Changes of leases on hosts, for which others are planned elsewhere, in random histories.

A change is granted if and only if brute force finds hosts for all leases, of which those that have begun keep
theirs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from typing import Any

import pytest
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from service.world import World

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.time import Interval
from blazar.service.commands import ReservationChange
from blazar.service.leases import LateBindingSettings, late_binding

HOURS = 60
LEAD = timedelta(minutes=90)
HOSTS = ("1", "2", "3")
ODD = '["!=", "$hypervisor_hostname", "host2"]'


@dataclass(frozen=True)
class Asked:
    """A lease of hosts: from one hour to another."""

    start: int
    hours: int
    count: int
    is_choosy: bool
    """Whether host 2 will not do."""


leases = st.lists(
    st.builds(
        Asked,
        st.integers(0, 5),
        st.integers(1, 3),
        st.sampled_from((1, 1, 1, 2)),
        st.sampled_from((False, True)),
    ),
    min_size=2,
    max_size=7,
)
changes = st.lists(
    st.tuples(st.integers(0, 6), st.integers(-1, 3), st.integers(-1, 1)), min_size=1, max_size=3
)


@given(leases, changes)
@settings(max_examples=examples(600), deadline=None)
def test_changes_are_granted_where_they_fit_in_any_plan(
    asked: Sequence[Asked], changed: Sequence[tuple[int, int, int]]
) -> None:
    _change(asked, changed, is_exact=True)


@given(leases, changes)
@settings(max_examples=examples(400), deadline=None)
def test_changes_are_valid_where_all_is_planned_anew(
    asked: Sequence[Asked], changed: Sequence[tuple[int, int, int]]
) -> None:
    """Chains of moves are cut short at once, so that only what need not be exact finds room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(late_binding, "CHAINS", 1)
        _change(asked, changed, is_exact=False)


def _change(asked: Sequence[Asked], changed: Sequence[tuple[int, int, int]], is_exact: bool) -> None:
    world = World(hosts=len(HOSTS), late_binding=LateBindingSettings(lead=LEAD))
    for each in asked:
        _create(world, each)
    world.run_due()
    for number, hours, more in changed:
        stored = [each for each in world.leases.list(None) if each.status is not LeaseStatus.TERMINATED]
        if not stored:
            return
        lease = stored[number % len(stored)]
        end = world.in_minutes((lease.interval.end - world.clock.now()).total_seconds() / 60 + hours * HOURS)
        count = max(1, lease.reservations[0].parameters["min"] + more)
        has_begun = lease.status is not LeaseStatus.PENDING
        if end <= max(lease.interval.start, world.clock.now()) or (has_begun and more < 0):
            continue
        wanted = ReservationChange(lease.reservations[0].id, {"min": count, "max": count})
        before = {each.id: each for each in stored}
        staying = {
            each.id
            for each in stored
            if each.status is not LeaseStatus.PENDING
            or (each.interval.start < world.clock.now() + LEAD and each.id != lease.id)
        }
        could = _could_be(stored, lease, Interval(lease.interval.start, end), count, staying)
        moved_before = {each.id: world.hosts_of(each) for each in stored}
        try:
            world.update(lease, end=end, reservations=(wanted,))
        except NotEnoughResources:
            event("refused")
            assert not (could and is_exact)
            event("missed" if could else "rightly refused")
            assert {each.id: each for each in world.leases.list(None) if each.id in before} == before
        else:
            assert could
            now = {each.id: world.hosts_of(each) for each in stored}
            others = any(now[i] != hosts for i, hosts in moved_before.items() if i != lease.id)
            event("others are planned elsewhere" if others else "as things were planned")
            assert lease.id not in before or len(now[lease.id]) == count
            for each in stored:
                if each.id in staying:
                    assert moved_before[each.id] <= now[each.id]
        _require_valid(world)
        world.run_due()


def _create(world: World, asked: Asked) -> None:
    fields: dict[str, Any] = {"min": asked.count, "max": asked.count}
    if asked.is_choosy:
        fields["hypervisor_properties"] = ODD
    start = asked.start * HOURS
    try:
        world.create("lease", start=start, end=start + asked.hours * HOURS, **fields)
    except NotEnoughResources:
        event("not made")


def _suits(lease: Lease, host: str) -> bool:
    return host != "2" or not lease.reservations[0].parameters["hypervisor_properties"]


def _could_be(
    leases: Sequence[Lease], changed: Lease, interval: Interval, count: int, staying: Collection[str]
) -> bool:
    """Return whether there is a plan for all leases, the changed one with this interval and so many hosts."""
    intervals = {each.id: each.interval for each in leases} | {changed.id: interval}
    counts = {each.id: len(each.allocations) for each in leases} | {changed.id: count}
    chosen: dict[str, frozenset[str]] = {}

    def place(left: Sequence[Lease]) -> bool:
        if not left:
            return True
        lease, rest = left[0], left[1:]
        keeps = set(lease.resource_ids) if lease.id in staying else set()
        suitable = [host for host in HOSTS if _suits(lease, host) or host in keeps]
        for hosts in map(frozenset, combinations(suitable, counts[lease.id])):
            if keeps <= hosts and _is_free(hosts, intervals[lease.id], chosen, intervals):
                chosen[lease.id] = hosts
                if place(rest):
                    return True
                del chosen[lease.id]
        return False

    return place(leases)


def _is_free(
    hosts: frozenset[str],
    interval: Interval,
    chosen: Mapping[str, frozenset[str]],
    intervals: Mapping[str, Interval],
) -> bool:
    return all(
        hosts.isdisjoint(taken) or not interval.overlaps(intervals[lease_id])
        for lease_id, taken in chosen.items()
    )


def _require_valid(world: World) -> None:
    leases = [each for each in world.leases.list(None) if each.status is not LeaseStatus.TERMINATED]
    for one, other in combinations(leases, 2):
        if one.interval.overlaps(other.interval):
            assert set(one.resource_ids).isdisjoint(other.resource_ids)
    for each in leases:
        assert all(_suits(each, host) for host in each.resource_ids)
        assert all(row.interval.end == each.interval.end for row in each.allocations)
