"""Who occupies what, when: the resident calendar of one pool of resources."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

import numpy as np

from blazar.domain.facts import Facts, Ints
from blazar.domain.occupancy import Occupancy
from blazar.domain.resource import Allocation, Resource
from blazar.domain.time import Interval, epoch
from blazar.domain.window import Window


def database_order(resource_id: str) -> tuple[int, str]:
    """The key that sorts ids as the database does: numbers by number, then texts."""
    return (int(resource_id), "") if resource_id.isascii() and resource_id.isdigit() else (_AFTER_NUMBERS, resource_id)


_AFTER_NUMBERS = 10**80


def seconds(duration: timedelta) -> int:
    """The duration in seconds; a fraction counts as one."""
    return -(-duration // timedelta(seconds=1))


class Calendar:
    """The occupancy of the resources of one pool. Not safe for threads: callers lock."""

    def __init__(self) -> None:
        self.bulk_load(())

    # Changes

    def bulk_load(self, entries: Iterable[tuple[Resource, Iterable[Allocation]]]) -> None:
        """Forget everything, and load these resources with their allocations."""
        self.facts = Facts()
        self.occupancy = Occupancy()
        self._generations: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._ids: list[str] = []
        self._free: list[int] = []
        self._rank: Ints | None = None
        for resource, allocations in entries:
            self._store(self._new_place(resource.id), resource, allocations)
        keyed = sorted((database_order(name), place) for name, place in self._places.items())
        self._keys = [key for key, _ in keyed]
        self._order: Ints = np.array([place for _, place in keyed], np.int64)

    def put(self, resource: Resource, allocations: Iterable[Allocation]) -> None:
        """Insert the resource, or replace it, with all of its allocations."""
        place = self._places.get(resource.id)
        if place is None:
            place = self._new_place(resource.id)
            key = database_order(resource.id)
            at = bisect_left(self._keys, key)
            self._keys.insert(at, key)
            self._order = np.insert(self._order, at, place)
            self._rank = None
        self._store(place, resource, allocations)

    def drop(self, resource_id: str) -> None:
        """Forget a resource and its allocations; an unknown one is no error."""
        place = self._places.pop(resource_id, None)
        if place is None:
            return
        del self._generations[resource_id]
        at = bisect_left(self._keys, database_order(resource_id))
        del self._keys[at]
        self._order = np.delete(self._order, at)
        self._rank = None
        self.facts.erase(place)
        self.occupancy.replace(place, ())
        self._free.append(place)

    def _new_place(self, resource_id: str) -> int:
        if self._free:
            place = self._free.pop()
            self._ids[place] = resource_id
        else:
            place = len(self._ids)
            self._ids.append(resource_id)
        self._places[resource_id] = place
        return place

    def _store(self, place: int, resource: Resource, allocations: Iterable[Allocation]) -> None:
        self.facts.write(place, resource)
        self.occupancy.replace(place, allocations)
        self._generations[resource.id] = resource.generation

    # Questions

    def generation_of(self, resource_id: str) -> int | None:
        """The generation that was loaded; None for an unknown resource."""
        return self._generations.get(resource_id)

    def generations(self) -> Mapping[str, int]:
        """The generation of each resource; a live view."""
        return MappingProxyType(self._generations)

    def allocations_of(self, resource_id: str) -> Sequence[Allocation]:
        """The allocations of a resource, in the order they were put; none for an unknown one."""
        place = self._places.get(resource_id)
        return () if place is None else tuple(self.occupancy.of(place))

    def window(self, interval: Interval, margin: timedelta = timedelta(0), ignore: Collection[str] = ()) -> Window:
        """What is occupied in ``interval``, widened by ``margin`` on both sides.

        Allocations whose lease or reservation is in ``ignore`` are left out.
        """
        width = seconds(margin)
        return self.window_of(epoch(interval.start) - width, epoch(interval.end) + width, ignore)

    def window_of(self, start: int, end: int, ignore: Collection[str] = ()) -> Window:
        """The same for seconds since 1970-01-01 UTC."""
        return Window(self.facts, self.occupancy, start, end, ignore)

    def place_of(self, resource_id: str) -> int | None:
        """Where the resource is found in masks and arrays."""
        return self._places.get(resource_id)

    def id_at(self, place: int) -> str:
        return self._ids[place]

    @property
    def rank(self) -> Ints:
        """The position in database order by place; those of empty places mean nothing."""
        if self._rank is None:
            self._rank = np.zeros(len(self._ids), np.int64)
            self._rank[self._order] = np.arange(len(self._order))
        return self._rank

    def __iter__(self) -> Iterator[str]:
        """The ids in database order."""
        return (self._ids[place] for place in self._order.tolist())

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, resource_id: object) -> bool:
        return resource_id in self._places
