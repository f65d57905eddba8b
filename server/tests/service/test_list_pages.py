"""Are the pages of a list of hosts, floating IPs or allocations together the list?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.views import AllocationsPage, of_rows, to_rows
from blazar.service.pages import ResourcePage

from .world import ADMIN, World, instances, whole_hosts

LIMITS = pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])


@pytest.fixture(scope="module")
def world() -> World:
    """Twelve hosts, of which the tenth follows the ninth; many leases on one, none on another."""
    world = World(hosts=12, floating_ips=9)
    for n in range(3):
        world.reserve(instances(vcpus=1, amount=2), start=60 * n, end=60 * n + 60)
    for n in range(4):
        world.reserve(whole_hosts(min=3, max=3), start=300 + 60 * n, end=360 + 60 * n)
    return world


def paged(ask: Any, limit: int) -> Iterator[Sequence[Any]]:
    after: str | None = None
    while page := ask(ResourcePage(limit, after)):
        assert len(page) <= limit
        yield page
        after = page[-1].id


@LIMITS
def test_the_pages_of_hosts_are_the_list(world: World, limit: int) -> None:
    pages = list(paged(lambda page: world.hosts.list(ADMIN, page), limit))
    listed = [replace(host, traits=frozenset(), inventory={}) for host in world.hosts.list(ADMIN)]
    assert [host for page in pages for host in page] == listed
    assert [host.id for page in pages for host in page] == [str(n) for n in range(1, 13)]


@LIMITS
def test_the_pages_of_floating_ips_have_all_of_them(world: World, limit: int) -> None:
    found = [each.id for page in paged(world.floatingips.list, limit) for each in page]
    assert sorted(found) == found
    assert set(found) == {each.id for each in world.floatingips.list()}


@LIMITS
@pytest.mark.parametrize("of_one_lease", [False, True])
def test_the_pages_of_allocations_are_the_list(world: World, limit: int, of_one_lease: bool) -> None:
    lease_id = world.leases.list(None)[3].id if of_one_lease else None
    rows = []
    page = AllocationsPage(limit)
    while some := list(to_rows(world.allocations.list_for_hosts(lease_id, page=page))):
        assert len(some) <= limit
        rows += some
        found = some[-1].allocation
        where = (found.interval.start, found.id) if found else (None, None)
        page = AllocationsPage(limit, some[-1].resource_id, *where)
    everything = world.allocations.list_for_hosts(lease_id)
    assert list(of_rows(rows)) == everything
    assert len(everything) == 12
    assert max(len(each.allocations) for each in everything) > (0 if of_one_lease else 2)


def test_a_host_that_goes_between_two_pages_leaves_no_gap() -> None:
    world = World(hosts=5)
    first = world.hosts.list(ADMIN, ResourcePage(2))
    world.hosts.unregister(first[-1].id)
    rest = world.hosts.list(ADMIN, ResourcePage(9, first[-1].id))
    assert [host.id for host in (*first, *rest)] == ["1", "2", "3", "4", "5"]
    world.hosts.register(RegisterHost("host2", {}))
