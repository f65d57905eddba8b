"""Where something that is planned would fit elsewhere as things are: the gaps of a pool.

A gap is a time in which a resource is free, between what is on it. In the order of their begins, the latest
end of all gaps up to one tells at once whether something fits: of the gaps that begin before it, one has to
end after it.

Example: host 1 is free from 8 to 10 and from 12 to 20, host 2 from 9 to 15. What is planned from 9:30 to 14
fits, for among the gaps that begin by 9:30 the latest end is 15."""

from __future__ import annotations

import numpy as np

from blazar.domain.calendar.arrays import Ints, sorted_order
from blazar.domain.requirement.language import Mask
from blazar.domain.time import FOREVER, epoch

_NEVER = 0
_EVER = epoch(FOREVER)


class Gaps:
    """The gaps of the resources of a mask, on which something is from ``begins`` to before ``ends``. Times
    are seconds since 1970-01-01 UTC; those of one resource may overlap."""

    def __init__(self, among: Mask, indexes: Ints, begins: Ints, ends: Ints) -> None:
        is_among = among[indexes]
        indexes, begins, ends = indexes[is_among], begins[is_among], ends[is_among]
        order = sorted_order(indexes << int(begins.max(initial=0)).bit_length() | begins)
        indexes, begins, ends = indexes[order], begins[order], ends[order]
        # The latest end so far on a resource is above all on those before it.
        bits = _EVER.bit_length()
        reached = np.maximum.accumulate(indexes << bits | ends) & ((1 << bits) - 1)
        is_first = np.ones(len(indexes), bool)
        is_first[1:] = indexes[1:] != indexes[:-1]
        is_last = np.roll(is_first, -1)
        has_empty = int(is_first.sum()) < int(among.sum())
        since = np.concatenate((np.where(is_first, _NEVER, np.roll(reached, 1)), reached[is_last]))
        until = np.concatenate((begins, np.full(int(is_last.sum()), _EVER)))
        if has_empty:
            since, until = np.append(since, _NEVER), np.append(until, _EVER)
        order = sorted_order(since)
        self._since: Ints = since[order]
        self._until: Ints = np.maximum.accumulate(until[order])

    def hold(self, begins: Ints, ends: Ints) -> Mask:
        """Return which of these times fit in a gap."""
        at = np.searchsorted(self._since, begins, "right") - 1
        held: Mask = (at >= 0) & (self._until[at] >= ends)
        return held
