"""The ids of the resources, the index of each, and their order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.resource import database_order


class ResourceIds:
    """Give every resource an index, a small integer that all masks and arrays of the calendar use.

    A resource keeps its index. An index that became free is given to the next new resource. A writer that
    shares this object with a reader takes a ``copy`` before the next change."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._ids = list(ids)
        self._indexes = {name: index for index, name in enumerate(self._ids)}
        self._free: list[int] = []
        keyed = sorted((database_order(name), index) for name, index in self._indexes.items())
        self._keys = [key for key, _ in keyed]
        self._order: Ints = np.array([index for _, index in keyed], np.int64)
        self._rank: Ints | None = None

    def copy(self) -> ResourceIds:
        twin = ResourceIds()
        twin._ids = self._ids.copy()
        twin._indexes = self._indexes.copy()
        twin._free = self._free.copy()
        twin._keys = self._keys.copy()
        twin._order, twin._rank = self._order, self._rank  # replaced, never written to
        return twin

    def add(self, resource_id: str) -> int:
        """Return the index of a new resource."""
        if self._free:
            index = self._free.pop()
            self._ids[index] = resource_id
        else:
            index = len(self._ids)
            self._ids.append(resource_id)
        self._indexes[resource_id] = index
        key = database_order(resource_id)
        at = bisect_left(self._keys, key)
        self._keys.insert(at, key)
        self._order = np.insert(self._order, at, index)
        self._rank = None
        return index

    def drop(self, resource_id: str) -> None:
        """Forget a resource that has an index."""
        self._free.append(self._indexes.pop(resource_id))
        at = bisect_left(self._keys, database_order(resource_id))
        del self._keys[at]
        self._order = np.delete(self._order, at)
        self._rank = None

    def index_of(self, resource_id: str) -> int | None:
        return self._indexes.get(resource_id)

    def id_at(self, index: int) -> str:
        return self._ids[index]

    @property
    def rank(self) -> Ints:
        """Return the position in database order, by index; that of an unused index means nothing."""
        rank = self._rank
        if rank is None:
            rank = np.zeros(len(self._ids), np.int64)
            rank[self._order] = np.arange(len(self._order))
            self._rank = rank
        return rank

    def __iter__(self) -> Iterator[str]:
        """Return the ids in database order."""
        return (self._ids[index] for index in self._order.tolist())

    def __len__(self) -> int:
        return len(self._indexes)

    def __contains__(self, resource_id: object) -> bool:
        return resource_id in self._indexes
