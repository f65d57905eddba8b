"""What a caller is shown of hosts and allocations, as values; the API turns them into wire bodies."""

from __future__ import annotations

from dataclasses import dataclass

from blazar.domain.resource import Allocation


@dataclass(frozen=True, slots=True)
class ResourceAllocations:
    """A resource and the allocations on it that the caller asked for."""

    resource_id: str
    allocations: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True)
class PropertyView:
    """A resource property in use: its distinct values over all hosts, sorted."""

    name: str
    private: bool
    values: tuple[str, ...]
