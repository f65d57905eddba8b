"""The page of a list of leases, out of what was looked at for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from blazar.service.ports import LeasePlace, LeaseQuery


@dataclass(frozen=True, slots=True)
class LeaseScan:
    """A part of a list in its order: places of leases, and whether each lease is asked for.

    ``is_whole``: nothing more follows. Otherwise nothing is known of what follows the last place."""

    places: Sequence[tuple[LeasePlace, bool]]
    is_whole: bool


def page_of(query: LeaseQuery, scans: Sequence[LeaseScan]) -> tuple[Sequence[LeasePlace], LeasePlace | None]:
    """Return the places of the leases on the page, and the one from which the list goes on.

    Several scans are of different leases, such as those of each status. They are merged up to where the
    first of them ends: what follows there, another one may precede."""
    is_last = max if query.descending else min
    known = is_last((scan.places[-1][0] for scan in scans if not scan.is_whole), default=None)
    if len(scans) == 1:
        merged = scans[0].places
    else:
        merged = sorted(
            (each for scan in scans for each in scan.places), key=itemgetter(0), reverse=query.descending
        )
        merged = [each for each in merged if known is None or is_last(each[0], known) == each[0]]
    found = [place for place, is_asked_for in merged if is_asked_for]
    if len(found) > query.limit:
        return found[: query.limit], found[query.limit - 1]
    return found, known
