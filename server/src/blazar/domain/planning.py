"""Which resources serve a request: a plan on the calendar, or the shortage that tells why there is none.

What is guaranteed:

* A plan never takes more of a resource than it has, at any instant of the interval widened by the cleaning time,
  beside every allocation of the calendar that the request does not replace.
* A request of one demand is refused only if it does not fit, and gets as many units as there are, up to its maximum
  (with Grouping.TOGETHER as many as one resource has; it stays where it is if its minimum fits there).
* The same holds for several demands that all take whole resources: the first gets as many as can be had while all
  others have their minimum, then the second, and so on.
* Several demands, not all for whole resources, are tried in several orders and then searched for exactly. The search
  is bounded by ``search.EFFORT``: where it ends within the bound, as it does for a few demands on a few sorts of
  resources, the request is refused only if it does not fit; beyond the bound it may be refused though it would fit.
  What is above the minimum is given to one demand after the other, which need not be the most in sum.
* What a reservation has is kept as far as it matches and has room, as long as the request fits that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from blazar.domain.attempt import Attempt
from blazar.domain.calendar import Calendar
from blazar.domain.demand import (
    Assignment,
    Cause,
    Demand,
    Grouping,
    Kept,
    Order,
    Plan,
    Request,
    Shortage,
)
from blazar.domain.offers import first_fit
from blazar.domain.resource import Allocation
from blazar.domain.room import Choice, Prospect, prospect
from blazar.domain.time import Interval

__all__ = [
    "Assignment",
    "Cause",
    "Demand",
    "Grouping",
    "Kept",
    "Order",
    "Plan",
    "Request",
    "Shortage",
    "plan",
]


def plan(calendar: Calendar, request: Request) -> Plan | Shortage:
    """Plan ``request`` on ``calendar``; nothing is changed."""
    prospects = [prospect(calendar, demand) for demand in request.demands]
    replaced = [demand.reservation_id for demand in request.demands]
    window = calendar.window(request.interval, request.cleaning, replaced)
    attempt = Attempt(calendar, request, prospects, window)
    choices = attempt.choices()
    if choices is None:
        return _shortage(calendar, request, attempt)
    return _plan(calendar, request.interval, prospects, choices)


def _plan(calendar: Calendar, interval: Interval, prospects: Sequence[Prospect], choices: Sequence[Choice]) -> Plan:
    assignments: list[Assignment] = []
    added: list[Assignment] = []
    kept: list[Kept] = []
    released: list[Allocation] = []
    for served, choice in zip(prospects, choices, strict=True):
        demand = served.demand
        rows: dict[str, list[Allocation]] = {}
        for row in sorted(demand.current, key=lambda row: not row.bound):
            rows.setdefault(row.resource_id, []).append(row)
        for place in sorted(choice, key=calendar.rank.__getitem__):
            assignment = Assignment(demand.reservation_id, calendar.id_at(place), demand.claim, choice[place])
            assignments.append(assignment)
            if assignment.resource_id in rows:
                stay, go = _divided(rows.pop(assignment.resource_id), assignment, interval)
                kept += stay
                released += go
            else:
                added.append(assignment)
        released += (row for here in rows.values() for row in here)
    touched = [a.resource_id for a in added] + [row.resource_id for row in released]
    touched += [k.old.resource_id for k in kept if k.is_changed]
    generations = calendar.generations()
    touched_now = {name: generations[name] for name in touched if name in generations}
    return Plan(interval, tuple(assignments), tuple(added), tuple(kept), tuple(released), touched_now)


def _divided(
    rows: Sequence[Allocation], assignment: Assignment, interval: Interval
) -> tuple[list[Kept], list[Allocation]]:
    """The rows that stay on a resource, the first of them with what is new, and those that are not needed any more."""
    more = max(0, assignment.slots - sum(row.slots for row in rows))
    left = assignment.slots - more
    stay: list[Kept] = []
    go: list[Allocation] = []
    for row in rows:
        slots = min(row.slots, left)
        left -= slots
        if slots:
            new = replace(row, interval=interval, claim=assignment.claim, slots=slots + more)
            more = 0
            stay.append(Kept(row, new))
        else:
            go.append(row)
    return stay, go


def _shortage(calendar: Calendar, request: Request, attempt: Attempt) -> Shortage:
    failing = [n for n in range(len(attempt.prospects)) if not attempt.could_be_alone(n)]
    number = failing[0] if failing else len(attempt.prospects) - 1
    served = attempt.prospects[number]
    demand = served.demand
    cause, names = _cause(calendar, attempt, number) if failing else (Cause.COMBINATION, ())
    units = attempt.room.alone(number)
    free = units.max(initial=0) if demand.grouping is Grouping.TOGETHER else units.sum()
    return Shortage(
        reservation_id=demand.reservation_id,
        noun=demand.noun,
        cause=cause,
        wanted=demand.minimum,
        matched=int((served.matching & calendar.facts.reservable).sum()),
        free=int(free),
        first_fit=first_fit(calendar, request, attempt.prospects),
        unknown_properties=frozenset(n for n in demand.requirement.names if not calendar.facts.knows(n)),
        resources=names,
        grouping=demand.grouping,
        is_whole=served.is_whole,
    )


def _cause(calendar: Calendar, attempt: Attempt, number: int) -> tuple[Cause, tuple[str, ...]]:
    served = attempt.prospects[number]
    demand = served.demand
    units = attempt.room.alone(number)
    lacking = [calendar.id_at(place) for place, slots in served.needed.items() if units[place] < slots]
    lacking += served.unknown
    has = {row.resource_id for row in demand.current} if demand.keep_current else set()
    lost = tuple(name for name in lacking if name in has)
    if lost:
        return Cause.MUST_KEEP, lost
    if lacking:
        return Cause.MUST_INCLUDE, tuple(lacking)
    if sum(served.needed.values()) > served.most:
        return (Cause.MUST_KEEP if has else Cause.MUST_INCLUDE), ()
    return Cause.TOO_FEW, ()
