"""Decide what a waiting lease gets: a plan that takes nothing from those ahead of it in line.

The line is walked from its front. A lease that fits gets its plan. One that does not fit is *ahead* of all
that follow: nothing that suits it, in the time in which it may have something, is given to them. So whatever
becomes free for it stays free, however many smaller leases wait behind it, and it is not starved.

Example: the first in line wants two hosts with a GPU from 8 to 12, and one is free. The second wants one host
of any sort from 10 to 14. It gets a host without a GPU, or waits. The third wants a host with a GPU from 13
on, and gets the free one.

A lease that may start within a window is looked for in three parts of it: before the time of those ahead,
beside them on what does not suit them, and after them. Its plan need not have the earliest start of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.planning.availability import (
    AvailabilitySearch,
    Objection,
    Requests,
    Rules,
    no_rules,
)
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import PlanOutline
from blazar.domain.resource import Pool
from blazar.domain.time import Interval


@dataclass(frozen=True, slots=True)
class Wish:
    """What a waiting lease asks for: its demands at the earliest start that would do, and the latest one."""

    requests: Requests
    latest: datetime

    @property
    def interval(self) -> Interval:
        return next(iter(self.requests.values())).interval

    @property
    def window(self) -> Interval:
        """Return the time in which it may have something, with the cleaning time around it."""
        interval, margin = self.interval, max(each.cleaning for each in self.requests.values())
        return Interval(interval.start, max(self.latest, interval.start) + interval.duration).widened(margin)


def promotion(
    search: AvailabilitySearch, wish: Wish, ahead: Sequence[Wish], rules: Rules = no_rules
) -> tuple[PlanOutline | None, bool]:
    """Return the plan of the next lease in line, where those ``ahead`` do not fit; None where it has to wait.

    Tell as well whether others have to leave it what suits it: not where the rules forbid it, as quotas do,
    and not where it would not fit if nothing else were there. Raises CutShort where the budget is spent."""
    objected = False

    def allowed(plan: PlanOutline) -> Objection | None:
        nonlocal objected
        objection = rules(plan)
        objected = objected or objection is not None
        return objection

    found = _found(search, wish, _in_the_way(wish, ahead), allowed)
    return found, found is None and not objected and could_fit(search, wish)


def could_fit(search: AvailabilitySearch, wish: Wish) -> bool:
    """Return whether it would fit if nothing else were there. Raises CutShort."""
    return search.emptied().fitting(wish.requests) is not None


def _found(search: AvailabilitySearch, wish: Wish, ahead: Sequence[Wish], rules: Rules) -> PlanOutline | None:
    duration, start = wish.interval.duration, wish.interval.start
    if not ahead:
        return _between(search, wish.requests, start, wish.latest, rules)
    before = min(each.window.start for each in ahead) - duration - _margin(wish)
    if before >= start:
        first = _between(search, wish.requests, start, min(before, wish.latest), rules)
        if first is not None:
            return first
    beside = _between(search, _yielding(wish.requests, ahead), start, wish.latest, rules)
    after = max(each.window.end for each in ahead) + _margin(wish)
    if after > wish.latest or (beside is not None and beside.interval.start <= after):
        return beside
    behind = _between(search, wish.requests, max(after, start), wish.latest, rules)
    found = [each for each in (beside, behind) if each is not None]
    return min(found, key=lambda each: each.interval.start, default=None)


def _between(
    search: AvailabilitySearch, requests: Requests, start: datetime, latest: datetime, rules: Rules
) -> PlanOutline | None:
    moved = {pool: replace(each, interval=_at(each.interval, start)) for pool, each in requests.items()}
    return search.fitting(moved, rules) if latest <= start else search.earliest(moved, latest, rules)


def _at(interval: Interval, start: datetime) -> Interval:
    return Interval(start, start + interval.duration)


def _margin(wish: Wish) -> timedelta:
    return max(each.cleaning for each in wish.requests.values())


def _in_the_way(wish: Wish, ahead: Sequence[Wish]) -> list[Wish]:
    """Return those ahead that may want the same resources at the same time."""
    return [
        each
        for each in ahead
        if not each.requests.keys().isdisjoint(wish.requests) and each.window.overlaps(wish.window)
    ]


def _yielding(requests: Requests, ahead: Sequence[Wish]) -> Requests:
    def of_others(pool: Pool) -> tuple[Demand, ...]:
        return tuple(
            demand for each in ahead if pool in each.requests for demand in each.requests[pool].demands
        )

    return {
        pool: replace(
            request, demands=tuple(replace(each, yields_to=of_others(pool)) for each in request.demands)
        )
        for pool, request in requests.items()
    }
