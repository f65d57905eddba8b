"""Which reservations occupy a host: the list that operators see."""

from __future__ import annotations

from collections.abc import Sequence

from blazar.domain.resource import Allocation, Pool, database_order
from blazar.service.context import Caller
from blazar.service.hosts import existing_host
from blazar.service.ports import Clock, Database
from blazar.service.views import ResourceAllocations


class Allocations:
    """The use cases of allocations."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def list_for_hosts(
        self, caller: Caller, lease_id: str | None = None, reservation_id: str | None = None
    ) -> Sequence[ResourceAllocations]:
        on_host: dict[str, list[Allocation]] = {}
        with self._database.read() as uow:
            host_ids = uow.resources.generations(Pool.HOST)
            for allocation in uow.resources.allocations(
                Pool.HOST,
                lease_id=lease_id,
                reservation_id=reservation_id,
                ending_after=None if lease_id or reservation_id else self._clock.now(),
            ):
                on_host.setdefault(allocation.resource_id, []).append(allocation)
        return [ResourceAllocations(i, tuple(on_host.get(i, ()))) for i in sorted(host_ids, key=database_order)]

    def get_for_host(
        self, host_id: str, caller: Caller, lease_id: str | None = None, reservation_id: str | None = None
    ) -> ResourceAllocations:
        with self._database.read() as uow:
            host = existing_host(uow, host_id)
            allocations = uow.resources.allocations(
                Pool.HOST,
                resource_id=host.id,
                lease_id=lease_id,
                reservation_id=reservation_id,
                ending_after=None if lease_id or reservation_id else self._clock.now(),
            )
        return ResourceAllocations(host.id, tuple(allocations))
