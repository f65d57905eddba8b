"""The views of hosts and allocations that a caller is shown, as values; the API turns them into wire
bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from blazar.domain.lease.lease import BEGINNING
from blazar.domain.resource import Allocation, database_order


@dataclass(frozen=True, slots=True)
class ResourceAllocations:
    """A resource and the allocations on it that the caller asked for."""

    resource_id: str
    allocations: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True)
class AllocationsPage:
    """A part of the list of hosts with their allocations: at most ``limit`` allocations, where a host without
    any counts as one.

    The page goes on after the host ``after``; and within it, unless all of it was on the pages before, after
    the allocation ``after_allocation`` that starts at ``after_start``."""

    limit: int
    after: str | None = None
    after_start: datetime | None = None
    after_allocation: str | None = None


@dataclass(frozen=True, slots=True)
class AllocationRow:
    """One allocation on a resource in a list, or a resource without any."""

    resource_id: str
    allocation: Allocation | None

    @property
    def key(self) -> tuple[tuple[bool, int, str], datetime, str]:
        """Return the place in the list."""
        found = self.allocation
        within = (BEGINNING, "") if found is None else (found.interval.start, found.id)
        return database_order(self.resource_id), *within


def to_rows(listed: Iterable[ResourceAllocations]) -> Iterator[AllocationRow]:
    """Return the rows of hosts with their allocations."""
    for each in listed:
        for allocation in each.allocations or (None,):
            yield AllocationRow(each.resource_id, allocation)


def of_rows(rows: Iterable[AllocationRow]) -> Iterator[ResourceAllocations]:
    """Return the hosts of rows that are in their order."""
    for resource_id, some in groupby(rows, key=lambda row: row.resource_id):
        yield ResourceAllocations(resource_id, tuple(row.allocation for row in some if row.allocation))


@dataclass(frozen=True, slots=True)
class PropertyView:
    """A resource property in use: its distinct values over all hosts, sorted."""

    name: str
    private: bool
    values: tuple[str, ...]
