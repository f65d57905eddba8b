"""The list of the reservations that occupy a host, as operators see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import dropwhile, islice

from blazar.domain.resource import Allocation, Pool
from blazar.kinds.registered_hosts.deregistration import existing_host
from blazar.kinds.registered_hosts.views import (
    AllocationRow,
    AllocationsPage,
    ResourceAllocations,
    of_rows,
    to_rows,
)
from blazar.service.pages import ids_after
from blazar.service.ports import Clock, Database, UnitOfWork

HOSTS_AT_ONCE = 50
"""Hosts whose allocations are read by one statement. A page is full after some of these."""


class Allocations:
    """The use cases of allocations."""

    def __init__(self, database: Database, pools: Sequence[Pool], clock: Clock) -> None:
        self._database = database
        self._pools = pools
        self._clock = clock

    def list_for_hosts(
        self,
        lease_id: str | None = None,
        reservation_id: str | None = None,
        page: AllocationsPage | None = None,
    ) -> Sequence[ResourceAllocations]:
        ending_after = None if lease_id or reservation_id else self._clock.now()
        with self._database.read() as uow:

            def allocations(ids: Sequence[str]) -> Sequence[Allocation]:
                return [
                    each
                    for pool in self._pools
                    for each in uow.resources.allocations(
                        pool,
                        resource_ids=ids,
                        lease_id=lease_id,
                        reservation_id=reservation_id,
                        ending_after=ending_after,
                    )
                ]

            if page is None:
                return list(of_rows(_rows(ids_after(uow, self._pools, None, HOSTS_AT_ONCE), allocations)))
            return list(of_rows(islice(_rows_after(uow, self._pools, page, allocations), page.limit)))

    def get_for_host(
        self, host_id: str, lease_id: str | None = None, reservation_id: str | None = None
    ) -> ResourceAllocations:
        with self._database.read() as uow:
            host = existing_host(uow, host_id)
            allocations = uow.resources.allocations(
                host.pool,
                resource_ids=[host.id],
                lease_id=lease_id,
                reservation_id=reservation_id,
                ending_after=None if lease_id or reservation_id else self._clock.now(),
            )
        return ResourceAllocations(host.id, tuple(allocations))


Find = Callable[[Sequence[str]], Sequence[Allocation]]
"""Finds the allocations on some hosts, by host, start and id."""


def _rows(host_ids: Iterable[Sequence[str]], find: Find) -> Iterator[AllocationRow]:
    """Return the rows of these hosts, in their order. What is not asked for is not read."""
    for some in host_ids:
        on_host: dict[str, list[Allocation]] = {host_id: [] for host_id in some}
        for allocation in find(some):
            on_host[allocation.resource_id].append(allocation)
        yield from to_rows(ResourceAllocations(i, tuple(found)) for i, found in on_host.items())


def _rows_after(
    uow: UnitOfWork, pools: Sequence[Pool], page: AllocationsPage, find: Find
) -> Iterator[AllocationRow]:
    if page.after is not None and page.after_start is not None and page.after_allocation is not None:
        place = (page.after_start, page.after_allocation)
        rest = dropwhile(lambda a: (a.interval.start, a.id) <= place, find([page.after]))
        yield from (AllocationRow(page.after, allocation) for allocation in rest)
    yield from _rows(ids_after(uow, pools, page.after, HOSTS_AT_ONCE), find)
