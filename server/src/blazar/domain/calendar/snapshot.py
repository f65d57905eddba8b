"""The calendar of one pool at one moment: what planning reads, without a lock."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.calendar.blocks import Blocks
from blazar.domain.calendar.columns import ResourceColumns
from blazar.domain.calendar.generations import Generations
from blazar.domain.calendar.ids import ResourceIds
from blazar.domain.calendar.occupancy import Occupancy
from blazar.domain.calendar.window import Window
from blazar.domain.requirement.language import Mask
from blazar.domain.time import Interval, epoch


def seconds(duration: timedelta) -> int:
    """Return the duration in seconds; a fraction counts as one."""
    return -(-duration // timedelta(seconds=1))


class CalendarSnapshot:
    """The resources of a pool, their generations and their allocations. It never changes; threads may share
    it."""

    def __init__(
        self, ids: ResourceIds, generations: Generations, columns: ResourceColumns, occupancy: Occupancy
    ) -> None:
        self._ids = ids
        self._generations = generations
        self.columns = columns
        self.occupancy = occupancy

    def emptied(self) -> CalendarSnapshot:
        """Return the same resources without any allocation."""
        return CalendarSnapshot(self._ids, self._generations, self.columns, Blocks().snapshot())

    def without(self, reservations: Collection[str]) -> CalendarSnapshot:
        """Return the same resources without the allocations of these reservations."""
        occupancy = self.occupancy.without(reservations)
        return CalendarSnapshot(self._ids, self._generations, self.columns, occupancy)

    def generation_of(self, resource_id: str) -> int | None:
        """Return the generation on which a plan stands; None for an unknown resource."""
        index = self._ids.index_of(resource_id)
        return None if index is None else self._generations[index]

    def window(
        self,
        interval: Interval,
        margin: timedelta = timedelta(0),
        ignore: Collection[str] = (),
        held: Mapping[int, Interval] | None = None,
    ) -> Window:
        """Return what is occupied in ``interval``, widened by ``margin`` on both sides.

        Allocations whose lease or reservation is in ``ignore`` are left out. ``held`` tells by index the time
        that the request has there already: an edge of the interval that lies in it is not widened there."""
        width = seconds(margin)
        start, end = epoch(interval.start), epoch(interval.end)
        bounds = {
            index: (
                start if has.start <= interval.start < has.end else start - width,
                end if has.start < interval.end <= has.end else end + width,
            )
            for index, has in (held or {}).items()
        }
        return Window(
            self.columns, self.occupancy, start - width, end + width, ignore, bounds if width else None
        )

    def window_of(self, start: int, end: int, ignore: Collection[str] = ()) -> Window:
        """Return the same for seconds since 1970-01-01 UTC."""
        return Window(self.columns, self.occupancy, start, end, ignore)

    def held_by(self, lease_id: str) -> Mask:
        """Return where the lease, or what holds something as a lease does, has an allocation at any time."""
        held: Mask = np.zeros(self.columns.size, bool)
        occupancy = self.occupancy
        for row in np.flatnonzero(occupancy.lease == hash(lease_id)).tolist():
            allocation = occupancy.allocations[row]
            # Hashes may collide, names don't.
            if allocation is not None and allocation.lease_id == lease_id:
                held[occupancy.index[row]] = True
        return held

    def index_of(self, resource_id: str) -> int | None:
        """Return where masks and arrays have the resource; None for an unknown one."""
        return self._ids.index_of(resource_id)

    def id_at(self, index: int) -> str:
        return self._ids.id_at(index)

    @property
    def rank(self) -> Ints:
        """Return the position in database order, by index; that of an empty index means nothing."""
        return self._ids.rank

    def __iter__(self) -> Iterator[str]:
        """Return the ids in database order."""
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, resource_id: object) -> bool:
        return resource_id in self._ids
