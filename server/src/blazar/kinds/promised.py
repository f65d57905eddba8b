"""How much of a resource is promised: an operator can take away what is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import accumulate

from blazar.domain.resource import Allocation


def most_at_once(allocations: Sequence[Allocation], resource_class: str) -> int:
    """Return the most of a class that is allocated at any moment.

    All starts and ends are walked through in order of time, so many allocations of one resource cost little
    more than sorting them. What ends at a moment goes before what starts then."""

    def changes() -> Iterator[tuple[datetime, int]]:
        for each in allocations:
            amount = (each.amounts or {}).get(resource_class, 0)
            yield from ((each.interval.start, amount), (each.interval.end, -amount))

    return max(accumulate(amount for _, amount in sorted(changes())), default=0)
