"""When a request that does not fit now would fit for the first time.

A later start can only help where something has ended meanwhile, so the starts to look at are the minutes at which
allocations, with their cleaning time, are over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from blazar.domain.attempt import Attempt
from blazar.domain.calendar import Calendar, seconds
from blazar.domain.demand import Grouping, Request
from blazar.domain.facts import Ints
from blazar.domain.requirement import Mask
from blazar.domain.room import Prospect
from blazar.domain.search import EFFORT
from blazar.domain.time import epoch, from_epoch
from blazar.domain.window import Window

PROBES = 64
"""How many starts are tried where counting free resources does not decide."""
PROBE_EFFORT = EFFORT // 32
"""How long each of them is searched, so that telling the first fit takes no longer than planning."""
_FAR = 2**61
_LAST_MOMENT = int(datetime.max.replace(tzinfo=UTC).timestamp())
_BITS = 40
"""Enough for all seconds up to the year 9999."""


def first_fit(calendar: Calendar, request: Request, prospects: Sequence[Prospect]) -> datetime | None:
    """The earliest start, in whole minutes and later than the request's, at which all demands fit.

    Exact where each demand takes whole resources and there is only one; else the first PROBES starts at which enough
    resources are free of whole claims are tried. None where there is no such start, none among these, or where
    a demand keeps what it has, for then the start cannot move.
    """
    if any(prospect.unknown or prospect.demand.keep_current for prospect in prospects):
        return None
    if Attempt(calendar, request, prospects, calendar.window_of(_FAR, _FAR + 1)).choices() is None:
        return None
    scan = _Scan(calendar, request, prospects)
    for start in scan.starts()[:PROBES].tolist():
        if Attempt(calendar, request, prospects, scan.window(start), PROBE_EFFORT).choices() is not None:
            return from_epoch(start)
    return None


class _Scan:
    """The allocations from the requested start on, as stretches of starts that they rule out."""

    def __init__(self, calendar: Calendar, request: Request, prospects: Sequence[Prospect]) -> None:
        self._calendar = calendar
        self._prospects = prospects
        self._ignore = [demand.reservation_id for demand in request.demands]
        self._cleaning = seconds(request.cleaning)
        self._start = epoch(request.interval.start)
        self._duration = epoch(request.interval.end) - self._start
        rows = calendar.occupancy.overlapping(self._start - self._cleaning, _FAR, self._ignore)
        suitable = np.logical_or.reduce([prospect.matching for prospect in prospects])
        self._rows = rows[suitable[calendar.occupancy.places(rows)]]

    def window(self, start: int) -> Window:
        margin = self._cleaning
        return self._calendar.window_of(start - margin, start + self._duration + margin, self._ignore)

    def starts(self) -> Ints:
        """The starts that are worth a try, in order."""
        ends = self._calendar.occupancy.ends(self._rows) + self._cleaning
        starts = np.unique(-(-ends // 60) * 60)
        starts = starts[(starts > self._start) & (starts + self._duration <= _LAST_MOMENT)]
        for prospect in self._prospects:
            starts = starts[self._enough(prospect, starts)]
        return starts

    def _enough(self, prospect: Prospect, starts: Ints) -> Mask:
        """At which starts enough resources are free, as far as that can be told by counting."""
        eligible = prospect.matching & self._calendar.facts.reservable
        must = np.zeros(len(eligible), bool)
        must[list(prospect.needed)] = True
        apart = prospect.is_whole or prospect.demand.grouping is Grouping.APART
        least = prospect.least if apart else min(prospect.least, 1)
        rows = self._rows
        if not prospect.is_whole:
            rows = rows[self._calendar.occupancy.whole(rows)]
        enough: Mask = self._free(eligible, rows, starts) >= least
        enough &= self._free(must, rows, starts) == len(prospect.needed)
        return enough

    def _free(self, eligible: Mask, rows: Ints, starts: Ints) -> Ints:
        """How many of the eligible resources are free for the whole duration, for each start."""
        occupancy = self._calendar.occupancy
        rows = rows[eligible[occupancy.places(rows)]]
        places = occupancy.places(rows).astype(np.int64) << _BITS
        # A start is ruled out from `lows` to before `highs`; one number holds place and time, and sorts by both.
        lows = places + np.maximum(occupancy.starts(rows) - self._duration - self._cleaning + 1, 0)
        highs = places + occupancy.ends(rows) + self._cleaning
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
