"""Find out when a request would fit, and for how long: the search behind answers to "when can I have it?".

It reads one snapshot of each pool, writes nothing, and spends one budget for all that it looks for. What it
finds is a plan that a lease of the same interval would get.

The earliest start of a request in several pools is found in turns: the first start that suits one pool is
tried with all of them, and where another pool lacks something, the next start to try is the first one that
suits that pool. No start in between can suit both, so none is missed. Rules beside the calendar, such as
quotas, take part in the same way: they refuse a plan, and tell the next start that is worth a try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.planning.blocking import Blocking, blocking
from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.candidate import Candidate
from blazar.domain.planning.demand import Demand, PlanRequest
from blazar.domain.planning.first_fit import find_first_fit
from blazar.domain.planning.plan import Cause, PlanOutline, Shortage
from blazar.domain.planning.planner import (
    Allowance,
    candidates_for,
    is_possible,
    outline,
    outline_if_it_fits,
)
from blazar.domain.resource import Pool
from blazar.domain.time import MINUTE, Interval

ROUNDS = 200
"""How many starts are tried, at the most, that one pool or rule allows and another one does not."""
PROBES = 1000
"""How many starts are tried where counting free resources does not decide."""

Requests = Mapping[Pool, PlanRequest]
"""The demands in each pool, for the same interval."""


@dataclass(frozen=True, slots=True)
class Objection:
    """A rule beside the calendar does not allow a plan. ``later`` is the next start that is worth a try, None
    where no later one is; ``is_exact`` tells whether it allows none in between."""

    later: datetime | None
    is_exact: bool = True


Rules = Callable[[PlanOutline], Objection | None]
"""What has to be said against a plan; None where that is nothing."""


def no_rules(plan: PlanOutline) -> None:
    """Allow every plan."""


class AvailabilitySearch:
    """The search in one snapshot of each pool.

    Every method raises CutShort where the budget is spent. ``is_exact`` becomes False where something may
    have been overlooked all the same."""

    def __init__(self, snapshot: Callable[[Pool], CalendarSnapshot], budget: Budget) -> None:
        """``snapshot`` returns the same one of a pool each time."""
        self._snapshot = snapshot
        self._budget = budget
        self._allowance = Allowance(budget, budget, budget)
        self._known: list[tuple[Pool, Sequence[Demand], Sequence[Candidate]]] = []
        """The candidates of the demands that were looked up."""
        self._short: list[tuple[Requests, Pool]] = []
        """What does not fit, and the pool that is short."""
        self.is_exact = True

    def emptied(self) -> AvailabilitySearch:
        """Return the search, with the same budget, in the same resources without any allocation."""
        return AvailabilitySearch(lambda pool: self._snapshot(pool).emptied(), self._budget)

    def spend(self, steps: int) -> None:
        """Count steps of rules, whose work grows with what a project has."""
        self._budget.spend(steps)

    def plan(self, requests: Requests) -> PlanOutline | Shortage:
        """Plan the demands of each pool: all or nothing."""
        plans = []
        for pool, request in requests.items():
            candidates = self._candidates(pool, request)
            outcome = outline(self._snapshot(pool), request, self._allowance, candidates)
            self._budget.spend(0)  # the planner tells a shortage where it is spent
            if isinstance(outcome, Shortage):
                if outcome.cut_short:
                    self.is_exact = False
                else:
                    self._short.append((requests, pool))
                return outcome
            plans.append(outcome)
        return PlanOutline.joined(plans)

    def earliest(
        self, requests: Requests, latest: datetime | None, rules: Rules = no_rules
    ) -> PlanOutline | None:
        """Return the plan with the earliest start from that of the requests to ``latest``, which the rules
        allow; None where there is none."""
        moved = requests
        for _ in range(ROUNDS):
            found, pool = self._fitting(moved)
            if found is None:
                start = self._later(pool, moved[pool], latest)
            else:
                objection = rules(found)
                if objection is None:
                    return found
                start = objection.later
                self.is_exact = self.is_exact and objection.is_exact
            if start is None or (latest is not None and start > latest):
                return None
            moved = {pool: _moved(request, start) for pool, request in requests.items()}
        self.is_exact = False
        return None

    def longest(self, requests: Requests, shortest: timedelta, rules: Rules = no_rules) -> PlanOutline | None:
        """Return the plan with the requests' start and the longest duration, in whole minutes, that is
        shorter than theirs and not shorter than ``shortest``; None where even that does not fit.

        What fits for a time fits for a shorter one, so the middle is tried again and again: about 20 plans
        for a year."""
        interval = next(iter(requests.values())).interval
        fewest, most = shortest // MINUTE, interval.duration // MINUTE
        if fewest >= most:
            return None
        if not self._fits(requests, fewest):
            return None
        # Rules may read all that a plan has, which takes long where that are thousands of resources.
        longest = _last(fewest, most, lambda minutes: self._fits(requests, minutes))
        best = self._for(requests, longest, rules)
        if best is not None or longest == fewest:
            return best
        best = self._for(requests, fewest, rules)
        most = longest
        while best is not None and most - fewest > 1:
            middle = (fewest + most) // 2
            found = self._for(requests, middle, rules)
            best, fewest, most = (best, fewest, middle) if found is None else (found, middle, most)
        return best

    def fitting(self, requests: Requests, rules: Rules = no_rules) -> PlanOutline | None:
        """Return the plan in the interval of the requests, which the rules allow; None where there is
        none."""
        found, _ = self._fitting(requests)
        return None if found is None or rules(found) is not None else found

    def blocking(self, requests: Requests, shortage: Shortage) -> tuple[list[Blocking], int]:
        """Return some of the leases that stand in the way, and how many there are besides: those in the way
        of the reservation that is short, of all in its pool where these do not fit together."""
        pool, request = next(
            (pool, request)
            for pool, request in requests.items()
            if any(each.reservation_id == shortage.reservation_id for each in request.demands)
        )
        every = [each.reservation_id for each in request.demands]
        short = every if shortage.cause is Cause.COMBINATION else [shortage.reservation_id]
        return blocking(self._snapshot(pool), request, short, self._budget)

    def terms(self, pool: Pool, name: str, resource_ids: Collection[str]) -> list[str]:
        """Return the values that these resources have of a property, each once, the most frequent first."""
        snapshot = self._snapshot(pool)
        indexes = [index for each in resource_ids if (index := snapshot.index_of(each)) is not None]
        self._budget.spend(1 + len(indexes) // 10)
        return [text for text, _ in Counter(snapshot.columns.texts(name, indexes)).most_common()]

    def _for(self, requests: Requests, minutes: int, rules: Rules) -> PlanOutline | None:
        return self.fitting({pool: lasting(request, minutes) for pool, request in requests.items()}, rules)

    def _candidates(self, pool: Pool, request: PlanRequest) -> Sequence[Candidate]:
        for of, demands, candidates in self._known:
            if of == pool and demands is request.demands:
                return candidates
        candidates = candidates_for(self._snapshot(pool), request, self._budget)
        self._known.append((pool, request.demands, candidates))
        return candidates

    def _fits(self, requests: Requests, minutes: int) -> bool:
        lengthened = {pool: lasting(request, minutes) for pool, request in requests.items()}
        try:
            for pool, request in lengthened.items():
                candidates = self._candidates(pool, request)
                if not is_possible(self._snapshot(pool), request, candidates, self._budget):
                    self._short.append((lengthened, pool))
                    return False
        except CutShort:
            self._budget.spend(0)
            self.is_exact = False
            return False
        return True

    def _fitting(self, requests: Requests) -> tuple[PlanOutline | None, Pool]:
        """Return the plan, and the last pool; None, and the pool that is short, where there is none."""
        for short, pool in self._short:
            if short == requests:
                return None, pool
        plans = []
        for pool, request in requests.items():
            try:
                candidates = self._candidates(pool, request)
                found = outline_if_it_fits(self._snapshot(pool), request, candidates, self._budget)
            except CutShort:
                self._budget.spend(0)
                found, self.is_exact = None, False
            if found is None:
                return None, pool
            plans.append(found)
        return PlanOutline.joined(plans), pool

    def _later(self, pool: Pool, request: PlanRequest, latest: datetime | None) -> datetime | None:
        candidates = self._candidates(pool, request)
        fit = find_first_fit(self._snapshot(pool), request, candidates, self._budget, PROBES, latest)
        self.is_exact = self.is_exact and fit.is_exact
        return fit.start


def _last(fewest: int, most: int, holds: Callable[[int], bool]) -> int:
    """Return the largest number below ``most`` for which it holds, as it does for ``fewest``, where it holds
    for all that are smaller."""
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (middle, most) if holds(middle) else (fewest, middle)
    return fewest


def lasting(request: PlanRequest, minutes: int) -> PlanRequest:
    """Return the request with another duration."""
    start = request.interval.start
    return replace(request, interval=Interval(start, start + minutes * MINUTE))


def _moved(request: PlanRequest, start: datetime) -> PlanRequest:
    return replace(request, interval=Interval(start, start + request.interval.duration))
