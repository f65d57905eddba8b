"""The resident calendar of one pool: the allocations of each resource. Changes are written to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from blazar.domain.calendar.blocks import Blocks
from blazar.domain.calendar.columns import ResourceColumns
from blazar.domain.calendar.generations import Generations
from blazar.domain.calendar.ids import ResourceIds
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.resource import Allocation, Resource


class Calendar:
    """The occupancy of the resources of one pool. Callers that write or take a snapshot hold a lock.

    A snapshot shares everything with the calendar. The first write after it copies what it writes to: one
    block of allocations, one chunk of generations; where a resource is new, gone or has other facts, which is
    rare, the ids or the columns as a whole."""

    def __init__(self) -> None:
        self.bulk_load(())

    def copy(self) -> Calendar:
        """Return a calendar of its own with the same contents, to try changes on that are not committed yet.

        Ids and facts are shared until one of the two changes them."""
        copy = Calendar()
        copy._ids, copy._columns = self._ids, self._columns
        self._ids_shared = self._columns_shared = True
        copy._ids_shared = copy._columns_shared = True
        copy._generations = self._generations.snapshot()
        copy._blocks = self._blocks.copy()
        return copy

    # Writing

    def bulk_load(
        self, entries: Iterable[tuple[Resource, Iterable[Allocation]]], further: Iterable[Allocation] = ()
    ) -> None:
        """Forget everything, and load these resources with their allocations, then the further allocations on
        them; those on other resources are left out."""
        self._ids = ResourceIds()
        self._generations = Generations()
        self._columns = ResourceColumns()
        self._blocks = Blocks()
        self._snapshot: CalendarSnapshot | None = None
        self._ids_shared = self._columns_shared = False
        loaded: list[str] = []
        for index, (resource, allocations) in enumerate(entries):
            loaded.append(resource.id)
            self._store(index, resource, allocations)
        self._ids = ResourceIds(loaded)
        self._blocks.load((self._ids.index_of(each.resource_id), each) for each in further)

    def put(self, resource: Resource, allocations: Iterable[Allocation]) -> None:
        """Insert the resource, or replace it, with all of its allocations."""
        self._snapshot = None
        index = self._ids.index_of(resource.id)
        if index is None:
            index = self._own_ids().add(resource.id)
        self._store(index, resource, allocations)

    def occupy(self, resource_id: str, allocations: Iterable[Allocation]) -> None:
        """Make these the allocations of a known resource; its facts and its generation stay as they are."""
        index = self._ids.index_of(resource_id)
        if index is not None:
            self._snapshot = None
            self._blocks.replace(index, allocations)

    def add(self, allocation: Allocation) -> None:
        """Add one allocation on a known resource, whose generation stays as it is."""
        index = self._ids.index_of(allocation.resource_id)
        if index is not None:
            self._snapshot = None
            self._blocks.add(index, allocation)

    def change(
        self, resource_id: str, generation: int, lease_ids: Iterable[str], allocations: Iterable[Allocation]
    ) -> None:
        """Make these allocations all that the leases have on a known resource, which is of this generation
        then. The cost does not depend on what other leases have there."""
        index = self._ids.index_of(resource_id)
        if index is None:
            return
        self._snapshot = None
        self._blocks.remove(index, lease_ids)
        for allocation in allocations:
            self._blocks.add(index, allocation)
        self._generations[index] = generation

    def release(self, resource_id: str, lease_id: str) -> None:
        """Remove what the lease has on a resource, whose generation stays as it is."""
        index = self._ids.index_of(resource_id)
        if index is not None:
            self._snapshot = None
            self._blocks.remove(index, [lease_id])

    def advance(self, resource_id: str, generation: int, allocations: Iterable[Allocation]) -> None:
        """Add what was committed on a resource of this generation, which the commit has raised by one.

        Nothing is changed where the resource is of another generation here: the calendar has the commit
        already, or not yet one before it."""
        if self.generation_of(resource_id) == generation:
            self.change(resource_id, generation + 1, (), allocations)

    def drop(self, resource_id: str) -> None:
        """Forget a resource and its allocations; an unknown one is no error."""
        index = self._ids.index_of(resource_id)
        if index is None:
            return
        self._snapshot = None
        self._own_ids().drop(resource_id)
        self._own_columns().erase(index)
        self._blocks.replace(index, ())

    def _store(self, index: int, resource: Resource, allocations: Iterable[Allocation]) -> None:
        if not self._columns.holds(index, resource):
            self._own_columns().write(index, resource)
        self._blocks.replace(index, allocations)
        self._generations[index] = resource.generation

    def _own_ids(self) -> ResourceIds:
        if self._ids_shared:
            self._ids, self._ids_shared = self._ids.copy(), False
        return self._ids

    def _own_columns(self) -> ResourceColumns:
        if self._columns_shared:
            self._columns, self._columns_shared = self._columns.copy(), False
        return self._columns

    # Reading

    def snapshot(self) -> CalendarSnapshot:
        """Return the calendar as it is now. It is the same object until the next change."""
        if self._snapshot is None:
            self._snapshot = CalendarSnapshot(
                self._ids, self._generations.snapshot(), self._columns, self._blocks.snapshot()
            )
            self._ids_shared = self._columns_shared = True
        return self._snapshot

    def is_reservable(self, resource_id: str) -> bool:
        """Return whether plans may take the resource."""
        index = self._ids.index_of(resource_id)
        return index is not None and bool(self._columns.reservable[index])

    def generation_of(self, resource_id: str) -> int | None:
        """Return the generation that was loaded; None for an unknown resource."""
        index = self._ids.index_of(resource_id)
        return None if index is None else self._generations[index]

    def allocations_of(self, resource_id: str) -> Sequence[Allocation]:
        """Return the allocations of a resource, those of a lease in the order they were put; none for an
        unknown one."""
        index = self._ids.index_of(resource_id)
        return () if index is None else tuple(self._blocks.of(index))

    def __iter__(self) -> Iterator[str]:
        """Return the ids in database order."""
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, resource_id: object) -> bool:
        return resource_id in self._ids
