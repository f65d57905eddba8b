"""Leases in a cloud of several regions, made in random histories: each reservation lies in one region, no
host is ever given twice, and what is refused fits into no choice of regions, as counting free hosts tells."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from service.world import ADMIN, World, whole_hosts

from blazar.domain.errors import NotEnoughResources
from blazar.domain.lease.lease import Lease
from blazar.domain.resource import Allocation
from blazar.kinds.registered_hosts.commands import RegisterHost

NAMES = ("RegionOne", "RegionTwo", "RegionThree")
HOUR = 60
EXACT = 2
"""With so many reservations, no choice of regions is overlooked."""
sizes = st.tuples(*[st.integers(1, 3)] * len(NAMES))
wishes = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from((None, None, None, *NAMES))), min_size=1, max_size=3
)
asked = st.lists(st.tuples(wishes, st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=12)


def world_of(hosts: tuple[int, ...]) -> World:
    world = World(hosts=0)
    for name in NAMES[1:]:
        world.cloud.add_region(name)
    world.restart()
    for name, number in zip(NAMES, hosts, strict=True):
        region = world.cloud.in_region(name)
        for n in range(1, number + 1):
            region.add_hypervisor(str(n), f"host{n}")
            world.hosts.register(RegisterHost(f"host{n}", {}, name))
    return world


def requirement(region: str | None) -> str:
    return f'["==", "$region", "{region}"]' if region else ""


@settings(max_examples=examples(15), deadline=None)
@given(sizes, asked)
def test_a_lease_is_granted_wherever_its_reservations_fit_into_regions(
    hosts: tuple[int, ...], requests: list[tuple[list[tuple[int, str | None]], int, int]]
) -> None:
    world = world_of(hosts)
    region_of = {host.id: host.region or NAMES[0] for host in world.hosts.list(ADMIN)}
    given_out: list[Allocation] = []
    for wanted, start, hours in requests:
        begin, end = start * HOUR + 1, (start + hours) * HOUR + 1
        span = (world.in_minutes(begin), world.in_minutes(end))
        taken = {a.resource_id for a in given_out if a.interval.start < span[1] and span[0] < a.interval.end}
        free = {name: sum(region_of[i] == name for i in region_of.keys() - taken) for name in NAMES}
        lease: Lease | None = None
        with suppress(NotEnoughResources):
            lease = world.reserve(
                *(whole_hosts(min=n, max=n, resource_properties=requirement(r)) for n, r in wanted),
                start=begin,
                end=end,
            )
        event(f"{'granted' if lease else 'refused'}, {len(wanted)} reservations")
        assert lease is None or can_fit(wanted, free)
        assert lease is not None or len(wanted) > EXACT or not can_fit(wanted, free)
        for reservation, (number, named) in zip(lease.reservations if lease else (), wanted, strict=False):
            mine = {a.resource_id for a in reservation.allocations}
            assert len(mine) == number
            assert not mine & taken
            assert {region_of[i] for i in mine} == {reservation.region or NAMES[0]}
            assert named in (None, reservation.region or NAMES[0])
            taken |= mine
            given_out += reservation.allocations


def can_fit(wanted: list[tuple[int, str | None]], free: dict[str, int]) -> bool:
    """Return whether some choice of regions has enough."""
    return any(
        all(named in (None, region) for (_, named), region in zip(wanted, chosen, strict=True))
        and all(
            sum(n for (n, _), region in zip(wanted, chosen, strict=True) if region == name) <= free[name]
            for name in NAMES
        )
        for chosen in product(NAMES, repeat=len(wanted))
    )
