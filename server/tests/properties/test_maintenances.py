"""The impact of a maintenance, against brute force: it names exactly the leases that are there in its time,
what moves moves to a host that is free, what breaks has none, and the commit does what was told."""

from __future__ import annotations

from dataclasses import dataclass

from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from service.world import ADMIN, World

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.maintenance import Effect, EffectReason, LeaseImpact
from blazar.domain.time import Interval
from blazar.service.commands import CreateMaintenance

HOUR = 60
HOSTS = 5


@dataclass(frozen=True)
class Wish:
    """A lease of so many hosts, in hours from now."""

    start: int
    length: int
    hosts: int


@dataclass(frozen=True)
class Away:
    """Hosts that are taken away, in hours from now."""

    hosts: tuple[str, ...]
    start: int
    length: int
    force: bool


wishes = st.builds(Wish, st.integers(0, 8), st.integers(1, 6), st.sampled_from((1, 1, 1, 2)))
away = st.builds(
    Away,
    st.lists(st.sampled_from([str(n + 1) for n in range(HOSTS)]), min_size=1, max_size=3, unique=True).map(
        tuple
    ),
    st.integers(1, 8),
    st.integers(1, 6),
    st.booleans(),
)


class Occupied:
    """Which lease has which hosts when, kept apart from the calendar."""

    def __init__(self, leases: list[Lease], closed: dict[str, list[Interval]]) -> None:
        self.intervals = {lease.id: lease.interval for lease in leases}
        self.hosts = {lease.id: set(lease.resource_ids) for lease in leases}
        self.closed = closed

    def is_free(self, host: str, interval: Interval) -> bool:
        return not any(
            host in has and self.intervals[id_].overlaps(interval) for id_, has in self.hosts.items()
        ) and not any(each.overlaps(interval) for each in self.closed.get(host, ()))

    def free(self, interval: Interval) -> list[str]:
        return [host for n in range(HOSTS) if self.is_free(host := str(n + 1), interval)]

    def lost(self, id_: str) -> set[str]:
        return {
            host
            for host in self.hosts[id_]
            if any(each.overlaps(self.intervals[id_]) for each in self.closed.get(host, ()))
        }


def is_as_brute_force_says(occupied: Occupied, impact: LeaseImpact, force: bool, has_begun: bool) -> None:
    lost = occupied.lost(impact.lease_id)
    interval = occupied.intervals[impact.lease_id]
    if has_begun and not force:
        assert (impact.effect, impact.reason) == (Effect.BREAKS, EffectReason.HAS_BEGUN)
        return
    free = occupied.free(interval)
    expected = Effect.MOVES if len(free) >= len(lost) else Effect.BREAKS
    assert impact.effect is expected, (impact, free, lost)
    event(str(expected))
    taken = [host for move in impact.moves for host in move.taken]
    left = {host for move in impact.moves for host in move.left}
    assert set(taken) <= set(free)
    assert left <= lost
    assert len(set(taken)) == len(left) == min(len(free), len(lost))
    occupied.hosts[impact.lease_id] = (occupied.hosts[impact.lease_id] - left) | set(taken)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(wishes, max_size=8), st.lists(away, min_size=1, max_size=3))
def test_an_impact_check_names_exactly_the_leases_that_brute_force_names(
    asked: list[Wish], maintenances: list[Away]
) -> None:
    world = World(hosts=HOSTS)
    for wish in asked:
        try:
            world.create(
                start=wish.start * HOUR,
                end=(wish.start + wish.length) * HOUR,
                min=wish.hosts,
                max=wish.hosts,
            )
        except NotEnoughResources:
            continue
    world.run_due()
    closed: dict[str, list[Interval]] = {}
    for each in maintenances:
        window = Interval(
            world.in_minutes(each.start * HOUR), world.in_minutes((each.start + each.length) * HOUR)
        )
        if any(window.overlaps(other) for host in each.hosts for other in closed.get(host, ())):
            continue
        with world.database.read() as uow:
            before = list(uow.leases.list("demo"))
        then = {**closed, **{host: [*closed.get(host, ()), window] for host in each.hosts}}
        occupied = Occupied(before, then)
        named = {
            lease.id
            for lease in before
            for allocation in lease.allocations
            if allocation.resource_id in each.hosts and allocation.interval.overlaps(window)
        }
        command = CreateMaintenance(each.hosts, window.start, window.end, "disks", None, each.force)
        seen = world.maintenances.preview(command, ADMIN).impacts
        assert {i.lease_id for i in seen if i.effect is not Effect.STAYS} == named
        begun = {lease.id for lease in before if any(a.bound for a in lease.allocations)}
        in_order = sorted(
            (i for i in seen if i.lease_id in named), key=lambda i: (i.interval.start, i.lease_id)
        )
        assert [i.lease_id for i in seen if i.lease_id in named] == [i.lease_id for i in in_order]
        for impact in in_order:
            is_as_brute_force_says(occupied, impact, each.force, impact.lease_id in begun)
        decision = world.maintenances.create(command, ADMIN)
        breaks = any(i.effect is Effect.BREAKS for i in seen)
        assert [(i.lease_id, i.effect) for i in decision.impacts] == [(i.lease_id, i.effect) for i in seen]
        with world.database.read() as uow:
            after = list(uow.leases.list("demo"))
        if breaks and not each.force:
            event("refused")
            assert decision.maintenance is None
            assert after == before
            continue
        event("forced" if breaks else "granted")
        assert decision.maintenance is not None
        closed = then
        broken = {i.lease_id for i in seen if i.effect is Effect.BREAKS}
        for lease in after:
            is_there = any(
                a.resource_id in each.hosts and a.interval.overlaps(window) for a in lease.allocations
            )
            assert is_there == (lease.id in broken)
            if lease.id in broken:
                assert lease.degraded
        world.run_due()
