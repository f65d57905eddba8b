"""Find the first possible start of a request that does not fit when it is wanted.

The idea: a later start helps only where an allocation has ended meanwhile, so the starts to look at are the
minutes at which allocations, with their cleaning time, are over. Most of them are held back by a gate, which
counts free resources (``planning.gate``); the others are tried as a plan would be, up to a number.

Counting decides for one demand for whole resources. The cost is a sort of the allocations ahead, and at most
PROBES attempts. The first that suits is often near, so the month after the wanted start is looked at first,
then the next four, and then the rest: each costs what its own allocations do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from blazar.domain.calendar.arrays import Ints
from blazar.domain.calendar.snapshot import CalendarSnapshot, seconds
from blazar.domain.calendar.window import Window
from blazar.domain.lazy import lazy
from blazar.domain.planning.attempt import Attempt
from blazar.domain.planning.budget import Budget, CutShort, of_array
from blazar.domain.planning.candidate import Candidate
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.gate import Ahead, FreeCounts, Gate, different, gates
from blazar.domain.planning.search import EFFORT
from blazar.domain.time import FOREVER, epoch, from_epoch

PROBES = 64
"""How many starts are tried where counting free resources does not decide."""
PROBE_EFFORT = EFFORT // 32
"""Steps of the exact search of each try, so that all tries together take no longer than planning."""
_PASSES = 6
"""Passes over the allocations ahead to find out where they end."""
STAGES = (30 * 86_400, 150 * 86_400)
"""The ends of the first stages of a search, in seconds after the wanted start."""
_FIRST_LOOK = 256
"""How many starts of a stage are looked at first. Then four times as many, and so on."""
_PATIENCE = 4
"""So many starts are tried before parts of resources are counted, which costs more than a try."""
_FAR = 2**61
_LAST_MOMENT = epoch(FOREVER) - 1
"""A host that is gone is away until then, which is no start."""


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

    Exact where there is only one demand, for whole resources; else the first PROBES starts that the gate lets
    through are tried. None where there is no such start, none among these, or where a demand keeps what it
    has, for then the start cannot move. Raises CutShort."""
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
    last = _LAST_MOMENT if latest is None else epoch(latest)
    duration, margin = _duration(request), seconds(request.cleaning)
    is_exact = True
    for number, start in enumerate(_starts(calendar, request, candidates, budget, last)):
        if number == probes:
            return FirstFit(None, is_exact=False)
        window = calendar.window_of(start - margin, start + duration + margin, request.replaced)
        fits = _fits(calendar, request, candidates, window, budget, PROBE_EFFORT)
        if fits:
            return FirstFit(from_epoch(start), is_exact)
        is_exact = is_exact and fits is not None
    return FirstFit(None, is_exact)


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
        return Attempt(calendar, request, candidates, window, budget, effort).is_possible()
    except CutShort:
        budget.spend(0)
        return None


def _duration(request: PlanRequest) -> int:
    return epoch(request.interval.end) - epoch(request.interval.start)


def _starts(
    calendar: CalendarSnapshot,
    request: PlanRequest,
    candidates: Sequence[Candidate],
    budget: Budget,
    latest: int,
) -> Iterator[int]:
    """Yield the starts that may suit, in order. None is after ``latest``."""
    first = epoch(request.interval.start)
    latest = min(latest, _LAST_MOMENT - _duration(request))
    since, patience = first, _PATIENCE
    # In whole minutes: so what is over within a stage makes a start of that stage.
    for end in (*((first + each) // 60 * 60 for each in STAGES), latest):
        until = min(end, latest)
        if since < until:
            yield from _Scan(calendar, request, candidates, budget, since, until).starts(patience)
            since, patience = until, 0


class _Scan:
    """The starts of one stage that are worth a try."""

    def __init__(
        self,
        calendar: CalendarSnapshot,
        request: PlanRequest,
        candidates: Sequence[Candidate],
        budget: Budget,
        since: int,
        until: int,
    ) -> None:
        """The starts are after ``since``, and not after ``until``."""
        self._calendar = calendar
        self._budget = budget
        self._candidates = candidates
        self._since, self._until = since, until
        duration, cleaning = _duration(request), seconds(request.cleaning)
        rows = calendar.occupancy.overlapping(since - cleaning, until + duration + cleaning, request.replaced)
        budget.spend(of_array(len(rows)) + of_array(calendar.columns.size, len(candidates)))
        suitable = np.logical_or.reduce([candidate.matching for candidate in candidates])
        rows = rows[suitable[calendar.occupancy.index[rows]]]
        budget.spend(of_array(len(rows), _PASSES))
        self._ahead = Ahead(calendar, rows, duration, cleaning)

    def starts(self, patience: int) -> Iterator[int]:
        """Yield them in order. ``patience`` is how many are tried before parts of resources are counted."""
        starts, length = self._ends(), _FIRST_LOOK
        while len(starts):
            some, starts, length = starts[:length], starts[length:], 4 * length
            some = self._with_wholes(some)
            untested, some = some[:patience], some[patience:]
            yield from untested.tolist()
            patience -= len(untested)
            yield from self._with_parts(some).tolist()

    def _with_wholes(self, starts: Ints) -> Ints:
        """Return the starts at which whole resources may be had, and those that are needed."""
        if any(candidate.is_whole for candidate in self._candidates):
            for gate in self._gates:
                starts = starts[gate.passes_wholes(starts)]
        for number, counts in self._needed:
            starts = starts[counts.at(starts)[0] == number]
        return starts

    def _with_parts(self, starts: Ints) -> Ints:
        """Return the starts at which parts of resources may be had as well."""
        if len(starts) and not all(candidate.is_whole for candidate in self._candidates):
            for gate in self._gates:
                starts = starts[gate.passes_parts(starts)]
        return starts

    @lazy
    def _gates(self) -> Sequence[Gate]:
        return gates(self._ahead, self._candidates, self._budget)

    @lazy
    def _needed(self) -> list[tuple[int, FreeCounts]]:
        """Return how many resources each candidate must get, and how many of them are free when."""
        return [self._needed_by(candidate) for candidate in self._candidates if candidate.needed]

    def _needed_by(self, candidate: Candidate) -> tuple[int, FreeCounts]:
        classes = np.full(self._calendar.columns.size, -1)
        classes[list(candidate.needed)] = 0
        among = np.ones(len(self._ahead.rows), bool) if candidate.is_whole else self._ahead.whole
        return len(candidate.needed), self._ahead.free(classes, among, self._budget)

    def _ends(self) -> Ints:
        """Return the minutes at which allocations are over."""
        self._budget.spend(of_array(len(self._ahead.rows), _PASSES))
        ends = -(-self._ahead.highs // 60) * 60
        return different(ends[(ends > self._since) & (ends <= self._until)])
