"""Hypervisors of two cells that have the same number are told apart, and as many managers as there are may
register them at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from blazar.adapters.clock import SystemClock
from blazar.adapters.memory.cloud import FREEPOOL, MemoryCloud
from blazar.domain.errors import BlazarError, MultipleHostsFound
from blazar.domain.resource import Registration
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.errors import HostAlreadyRegistered
from blazar.kinds.registered_hosts.hosts import Hosts, HostSettings
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.ports import Database

from .places import Place

T = TypeVar("T")
THREADS = 6


def test_each_is_found_by_its_name(cells: Place) -> None:
    found = [cells.cloud.compute.find_hypervisor(name) for name in cells.hosts]
    assert [each.hypervisor_hostname for each in found] == list(cells.hosts)
    assert [each.service_name for each in found] == list(cells.hosts)
    assert [each.facts["hypervisor_hostname"] for each in found] == list(cells.hosts)
    assert len({each.number for each in found}) == 1
    assert len({each.uuid for each in found}) == 2


def test_the_list_has_each_of_them(cells: Place) -> None:
    compute = cells.cloud.compute
    listed = {each.hypervisor_hostname: each.uuid for each in compute.hypervisors()}
    assert listed == {name: compute.find_hypervisor(name).uuid for name in cells.hosts}


def test_a_number_that_several_have_names_none(cells: Place) -> None:
    compute, names = cells.cloud.compute, ", ".join(cells.hosts)
    number = compute.find_hypervisor(cells.hosts[0]).number
    with pytest.raises(MultipleHostsFound) as refused:
        compute.find_hypervisor(number)
    assert str(refused.value) == (
        f"Multiple Hosts found for pattern '{number}': {names} have this id, each in a cell of its own. "
        "Register the host by its name."
    )
    assert compute.find_hypervisor(f"{number}0") is None


def all_at_once(work: Callable[[int], T]) -> list[T | BlazarError]:
    """What each thread returned, or was refused with."""
    gate = threading.Barrier(THREADS)

    def run(number: int) -> T | BlazarError:
        gate.wait()
        try:
            return work(number)
        except BlazarError as error:
            return error

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


@pytest.mark.parametrize("attempt", range(3))
def test_hosts_with_one_number_that_are_registered_at_once_get_ids_of_their_own(
    database: Database, attempt: int
) -> None:
    cloud = MemoryCloud()
    for n in range(THREADS):
        cloud.add_hypervisor("7", f"host{n}")
    hosts = Hosts(database, cloud, {}, SystemClock(), HostSettings())
    made = all_at_once(lambda n: hosts.register(RegisterHost(f"host{n}", {})))
    assert all(isinstance(each, Registration) for each in made), made
    with database.read() as uow:
        stored = uow.resources.list(POOL)
    assert {host.name for host in stored} == {f"host{n}" for n in range(THREADS)}
    assert len({host.id for host in stored}) == THREADS
    assert [host.id for host in stored if int(host.id) < 2**32] == ["7"]
    assert set(cloud.hosts_in(FREEPOOL)) == {host.name for host in stored}


def test_one_host_that_is_registered_by_many_at_once_is_registered_once(database: Database) -> None:
    cloud = MemoryCloud(["host1"])
    hosts = Hosts(database, cloud, {}, SystemClock(), HostSettings())
    made = all_at_once(lambda n: hosts.register(RegisterHost("host1", {"by": str(n)})))
    (stored,) = [each for each in made if isinstance(each, Registration)]
    assert all(isinstance(each, HostAlreadyRegistered) for each in made if each is not stored), made
    with database.read() as uow:
        assert uow.resources.list(POOL) == [stored]
    assert cloud.hosts_in(FREEPOOL) == ("host1",)
