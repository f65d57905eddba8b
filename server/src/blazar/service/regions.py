"""Which region a reservation lies in: the first one, in the operator's order, that has what it asks for.

Each region has a calendar of its own, and all that a reservation has lies in one region. So the choice is
made before the plan: the calendars are asked one after the other, and the plan is made on the one chosen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from blazar.domain.lease.lease import Lease
from blazar.domain.planning.availability import AvailabilitySearch, Requests
from blazar.domain.planning.budget import CutShort
from blazar.domain.planning.plan import Shortage

NEVER = datetime.max.replace(tzinfo=UTC)


class RegionChoice:
    """The choice for one lease, in one search. ``regions`` are in the operator's order; ``requests`` tells
    what a lease asks of each calendar."""

    def __init__(
        self,
        regions: Sequence[str | None],
        requests: Callable[[Lease], Requests],
        search: AvailabilitySearch,
        latest: datetime | None,
    ) -> None:
        self._regions = regions
        self._requests = requests
        self._search = search
        self._latest = latest

    def of(self, lease: Lease, free: Sequence[str]) -> Lease:
        """Return the lease with a region for each of the reservations ``free``, by their ids.

        All get the first region that has enough for all of them. Where there is none, each gets one by
        itself. Where that does not do either, they get the region where they fit soonest, by ``latest``, or
        else the one with the most resources that match."""
        together = [_lying_in(lease, free, region) for region in self._regions]
        try:
            for each in together:
                if self._fits(each):
                    return each
            apart = self._apart(lease, free) if len(free) > 1 else None
            return apart or min(together, key=self._wait)
        except CutShort:
            return lease

    def _apart(self, lease: Lease, free: Sequence[str]) -> Lease | None:
        """Return the lease with a region for each reservation by itself, beside those before it; None where
        one finds none. Those come first that find few: with two, no choice that fits is missed."""
        kept = [each.id for each in lease.reservations if each.id not in free]
        alone = {id_: self._suiting(lease, id_, [*kept, id_], self._regions) for id_ in free}
        for id_ in sorted(free, key=lambda each: len(alone[each])):
            kept.append(id_)
            suiting = self._suiting(lease, id_, kept, alone[id_])
            if not suiting:
                return None
            lease = _lying_in(lease, [id_], suiting[0])
        return lease

    def _suiting(
        self, lease: Lease, id_: str, beside: Collection[str], regions: Iterable[str | None]
    ) -> Sequence[str | None]:
        """Return in which of the regions the reservation fits, beside others of the lease."""
        return [each for each in regions if self._fits(_only(_lying_in(lease, [id_], each), beside))]

    def _fits(self, lease: Lease) -> bool:
        return self._search.fitting(self._requests(lease)) is not None

    def _wait(self, lease: Lease) -> tuple[datetime, int]:
        """Return what is less where the lease fits sooner, or where more resources match."""
        requests = self._requests(lease)
        found = self._search.earliest(requests, self._latest)
        if found is not None:
            return found.interval.start, 0
        short = self._search.plan(requests)
        return NEVER, -short.matched if isinstance(short, Shortage) else 0


def _lying_in(lease: Lease, reservation_ids: Collection[str], region: str | None) -> Lease:
    return replace(
        lease,
        reservations=tuple(
            replace(each, region=region) if each.id in reservation_ids else each
            for each in lease.reservations
        ),
    )


def _only(lease: Lease, reservation_ids: Collection[str]) -> Lease:
    return replace(lease, reservations=tuple(r for r in lease.reservations if r.id in reservation_ids))
