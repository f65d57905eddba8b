"""Find the first possible start of a request that does not fit when it is wanted.

The idea: a later start helps only where an allocation has ended meanwhile, so the starts to look at are the
minutes at which allocations, with their cleaning time, are over. Each allocation rules out a stretch of
starts on its resource: from its begin less the wanted duration, to its end. Where the stretches of one
resource are joined, the number of stretches over a start is the number of resources that are not free then.
Two sorted lists (where stretches begin and where they end) answer that for all starts at once.

Example: hosts 1 and 2 are taken from 8 to 12 and from 10 to 14, and two hosts are wanted for three hours.
Host 1 rules out the starts after 5 and before 12, host 2 those after 7 and before 14. The starts to look at
are 12 and 14; at 12 one host is free, at 14 two are, so 14 is the answer.

Counting decides for one demand for whole resources. For others it says which starts are worth a try, and the
first of them are tried as a plan would be. The cost is some sorts of the allocations ahead, and at most
PROBES attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.calendar.snapshot import CalendarSnapshot, seconds
from blazar.domain.calendar.window import Window
from blazar.domain.planning.attempt import Attempt
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.planning.candidate import Candidate
from blazar.domain.planning.demand import Grouping, PlanRequest
from blazar.domain.planning.search import EFFORT
from blazar.domain.requirement.language import Mask
from blazar.domain.time import epoch, from_epoch

PROBES = 64
"""How many starts are tried where counting free resources does not decide."""
PROBE_EFFORT = EFFORT // 32
"""Steps of the exact search of each try, so that all tries together take no longer than planning."""
_SORTS = 12
"""Passes that a sort of the allocations is worth."""
_FAR = 2**61
_LAST_MOMENT = int(datetime.max.replace(tzinfo=UTC).timestamp())
_BITS = 40
"""Enough for all seconds up to the year 9999."""


@dataclass(frozen=True, slots=True)
class FirstFit:
    """The first possible start that was found; None where there is none.

    ``is_exact`` tells whether that is certain. Else a start may have been overlooked, for the effort of an
    exact search was spent, or more starts were worth a try than could be tried."""

    start: datetime | None
    is_exact: bool = True


def first_fit(
    calendar: CalendarSnapshot, request: PlanRequest, candidates: Sequence[Candidate], budget: Budget
) -> datetime | None:
    """Return the earliest start, in whole minutes and later than the request's, at which all demands fit with
    the whole cleaning time around them.

    Exact where there is only one demand, for whole resources; else the first PROBES starts at which enough
    resources are free of whole usages are tried. None where there is no such start, none among these, or
    where a demand keeps what it has, for then the start cannot move. Raises CutShort."""
    return find_first_fit(calendar, request, candidates, budget, PROBES).start


def find_first_fit(
    calendar: CalendarSnapshot,
    request: PlanRequest,
    candidates: Sequence[Candidate],
    budget: Budget,
    probes: int,
    latest: datetime | None = None,
) -> FirstFit:
    """Do as ``first_fit`` does, with so many tries, for starts that are not after ``latest``. Raises
    CutShort."""
    if any(candidate.unknown or candidate.demand.keep_current for candidate in candidates):
        return FirstFit(None)
    fits = _fits(calendar, request, candidates, calendar.window_of(_FAR, _FAR + 1), budget, EFFORT)
    if not fits:
        return FirstFit(None, is_exact=fits is not None)
    scan = _Scan(calendar, request, candidates, budget)
    starts = scan.starts(_LAST_MOMENT if latest is None else epoch(latest))
    is_exact = True
    for start in starts[:probes].tolist():
        fits = _fits(calendar, request, candidates, scan.window(start), budget, PROBE_EFFORT)
        if fits:
            return FirstFit(from_epoch(start), is_exact)
        is_exact = is_exact and fits is not None
    return FirstFit(None, is_exact and len(starts) <= probes)


def _fits(
    calendar: CalendarSnapshot,
    request: PlanRequest,
    candidates: Sequence[Candidate],
    window: Window,
    budget: Budget,
    effort: int,
) -> bool | None:
    """Return whether there is a fit; None where that is not found out, for the effort of the exact search is
    spent. Another start may do then."""
    try:
        return Attempt(calendar, request, candidates, window, budget, effort).choices() is not None
    except CutShort:
        budget.spend(0)
        return None


class _Scan:
    """The allocations from the requested start on, as stretches of starts that they rule out."""

    def __init__(
        self,
        calendar: CalendarSnapshot,
        request: PlanRequest,
        candidates: Sequence[Candidate],
        budget: Budget,
    ) -> None:
        self._calendar = calendar
        self._budget = budget
        self._candidates = candidates
        self._ignore = [demand.reservation_id for demand in request.demands]
        self._cleaning = seconds(request.cleaning)
        self._start = epoch(request.interval.start)
        self._duration = epoch(request.interval.end) - self._start
        rows = calendar.occupancy.overlapping(self._start - self._cleaning, _FAR, self._ignore)
        budget.spend(of_array(len(rows)) + of_array(calendar.columns.size, len(candidates)))
        suitable = np.logical_or.reduce([candidate.matching for candidate in candidates])
        self._rows = rows[suitable[calendar.occupancy.index[rows]]]

    def window(self, start: int) -> Window:
        margin = self._cleaning
        return self._calendar.window_of(start - margin, start + self._duration + margin, self._ignore)

    def starts(self, latest: int) -> Ints:
        """Return the starts up to ``latest`` that are worth a try, in order."""
        self._budget.spend(of_array(len(self._rows), _SORTS))
        ends = self._calendar.occupancy.end[self._rows] + self._cleaning
        starts = np.unique(-(-ends // 60) * 60)
        last = min(latest, _LAST_MOMENT - self._duration)
        starts = starts[(starts > self._start) & (starts <= last)]
        for candidate in self._candidates:
            starts = starts[self._enough(candidate, starts)]
        return starts

    def _enough(self, candidate: Candidate, starts: Ints) -> Mask:
        """Return at which starts enough resources are free, as far as counting tells."""
        eligible = candidate.matching & self._calendar.columns.reservable
        must = np.zeros(len(eligible), bool)
        must[list(candidate.needed)] = True
        apart = candidate.is_whole or candidate.demand.grouping is Grouping.APART
        least = candidate.least if apart else min(candidate.least, 1)
        rows = self._rows
        if not candidate.is_whole:
            rows = rows[self._calendar.occupancy.whole[rows]]
        enough: Mask = self._free(eligible, rows, starts) >= least
        if candidate.needed:
            enough &= self._free(must, rows, starts) == len(candidate.needed)
        return enough

    def _free(self, eligible: Mask, rows: Ints, starts: Ints) -> Ints:
        """Return for each start how many of the eligible resources are free for the whole duration."""
        occupancy = self._calendar.occupancy
        rows = rows[eligible[occupancy.index[rows]]]
        self._budget.spend(of_array(len(rows) + len(starts), _SORTS))
        indexes = occupancy.index[rows].astype(np.int64) << _BITS
        # A start is ruled out from `lows` to before `highs`; one number holds index and time, and sorts by
        # both.
        lows = indexes + np.maximum(occupancy.start[rows] - self._duration - self._cleaning + 1, 0)
        highs = indexes + occupancy.end[rows] + self._cleaning
        order = np.argsort(lows)
        lows, reach = lows[order], np.maximum.accumulate(highs[order])
        is_first = np.ones(len(lows), bool)
        is_first[1:] = lows[1:] > reach[:-1]
        is_last = np.ones(len(lows), bool)
        is_last[:-1] = is_first[1:]
        begins, ends = _times(lows[is_first]), _times(reach[is_last])
        ruled_out = np.searchsorted(begins, starts, "right") - np.searchsorted(ends, starts, "right")
        free: Ints = np.count_nonzero(eligible) - ruled_out
        return free


def _times(moments: Ints) -> Ints:
    return np.sort(moments & ((1 << _BITS) - 1))
