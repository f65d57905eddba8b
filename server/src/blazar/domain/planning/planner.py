"""Decide which resources serve a request: a plan on a snapshot of the calendar, or the shortage that tells
why there is none.

The plan keeps these promises:

* A plan never takes more of a resource than it has, at any instant of the interval widened by the cleaning
  time, beside every allocation of the snapshot that the request does not replace. Around time that the
  request has on a resource already, the cleaning time is not asked for again.
* A request of one demand is refused only if it does not fit, and gets as many units as there are, up to its
  maximum (with Grouping.TOGETHER as many as one resource has; it stays where it is if its minimum fits
  there).
* The same holds for several demands that all take whole resources: the first gets as many as can be had while
  all others have their minimum, then the second, and so on.
* Several demands, not all for whole resources, are tried in several orders and then searched for exactly.
  Where the search ends within its effort, as it does for a few demands on a few host classes, the request is
  refused only if it does not fit. What is above the minimum is given to one demand after the other, which
  need not be the most in sum.
* What a reservation has is kept as far as it matches and has capacity, as long as the request fits that way.
* The work is bounded. Where the budget is spent, a request of several demands may be refused though it would
  fit; the shortage then says that it was cut short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.planning.attempt import Attempt
from blazar.domain.planning.budget import DECISION, FIRST_FIT, Budget, CutShort, of_array
from blazar.domain.planning.candidate import Candidate, Choice, candidate_for
from blazar.domain.planning.demand import Demand, Grouping, Order, PlanRequest
from blazar.domain.planning.first_fit import first_fit
from blazar.domain.planning.plan import Assignment, Cause, Kept, PartMatch, Plan, PlanOutline, Shortage
from blazar.domain.requirement.language import ANYTHING
from blazar.domain.resource import BUFFER_ID, WHOLE, Allocation
from blazar.domain.time import Interval

__all__ = [
    "Allowance",
    "Assignment",
    "Cause",
    "Demand",
    "Grouping",
    "Kept",
    "Order",
    "Plan",
    "PlanRequest",
    "Shortage",
    "plan",
    "with_first_fit",
]


MOST_PARTS = 32
"""How many parts of one sort a shortage tells about."""
LONGEST_PART = 200
"""Characters of a part, at the most."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The budgets of the parts of one decision, for all pools together."""

    decision: Budget = field(default_factory=lambda: Budget(DECISION))
    """To find a plan."""
    explanation: Budget = field(default_factory=lambda: Budget(DECISION))
    """To find out which demand fails: needed also when the decision's budget is spent."""
    first_fit: Budget = field(default_factory=lambda: Budget(FIRST_FIT))
    """To find the first possible start."""


def plan(calendar: CalendarSnapshot, request: PlanRequest, allowance: Allowance) -> Plan | Shortage:
    """Plan ``request``; a shortage gets its first possible start from ``with_first_fit``."""
    outcome = outline(calendar, request, allowance)
    return outcome.plan if isinstance(outcome, PlanOutline) else outcome


def outline(
    calendar: CalendarSnapshot,
    request: PlanRequest,
    allowance: Allowance,
    candidates: Sequence[Candidate] | None = None,
) -> PlanOutline | Shortage:
    """Plan ``request``, without writing the plan down; ``candidates`` are those of its demands where they are
    known."""
    if not request.demands:
        return _outline(calendar, request.interval, (), ())
    try:
        if candidates is None:
            candidates = candidates_for(calendar, request, allowance.decision)
        attempt = _attempt(calendar, request, candidates, allowance.decision)
    except CutShort:
        return undecided(request)
    cut_short = False
    try:
        choices = attempt.choices()
    except CutShort:
        choices, cut_short = None, True
    if choices is not None:
        return _outline(calendar, request.interval, attempt.candidates, choices)
    try:
        return _shortage(calendar, attempt, allowance.explanation, cut_short)
    except CutShort:
        return undecided(request)


def plan_if_it_fits(calendar: CalendarSnapshot, request: PlanRequest, budget: Budget) -> Plan | None:
    """Return the plan of ``request``; None where it does not fit, without finding out why. Raises CutShort
    where the budget, or the effort of the exact search, is spent before that is known."""
    found = outline_if_it_fits(calendar, request, candidates_for(calendar, request, budget), budget)
    return None if found is None else found.plan


def outline_if_it_fits(
    calendar: CalendarSnapshot, request: PlanRequest, candidates: Sequence[Candidate], budget: Budget
) -> PlanOutline | None:
    """Do as ``plan_if_it_fits`` does for these candidates, without writing the plan down."""
    if not request.demands:
        return _outline(calendar, request.interval, (), ())
    attempt = _attempt(calendar, request, candidates, budget)
    choices = attempt.choices()
    return None if choices is None else _outline(calendar, request.interval, attempt.candidates, choices)


def is_possible(
    calendar: CalendarSnapshot, request: PlanRequest, candidates: Sequence[Candidate], budget: Budget
) -> bool:
    """Return whether ``plan_if_it_fits`` finds a plan; one demand alone is not planned for it. The candidates
    are those of the demands, whose interval does not matter."""
    return not candidates or _attempt(calendar, request, candidates, budget).is_possible()


def _attempt(
    calendar: CalendarSnapshot, request: PlanRequest, candidates: Sequence[Candidate], budget: Budget
) -> Attempt:
    window = calendar.window(request.interval, request.cleaning, request.replaced, held_by(calendar, request))
    return Attempt(calendar, request, candidates, window, budget)


def with_first_fit(
    calendar: CalendarSnapshot, request: PlanRequest, shortage: Shortage, allowance: Allowance
) -> Shortage:
    """Return the shortage of ``request`` with its first possible start."""
    try:
        candidates = candidates_for(calendar, request, allowance.first_fit)
        return replace(shortage, first_fit=first_fit(calendar, request, candidates, allowance.first_fit))
    except CutShort:
        return replace(shortage, first_fit_cut_short=True)


def held_by(calendar: CalendarSnapshot, request: PlanRequest) -> dict[int, Interval]:
    """Return the time that the request has on each resource already, by index.

    Cleaning time is kept around what is new, and not around what was granted before: else a longer cleaning
    time, set by the operator, would make leases that follow each other closely unchangeable."""
    held: dict[int, Interval] = {}
    for row in (row for demand in request.demands for row in demand.current):
        index = calendar.index_of(row.resource_id)
        if index is not None:
            has = held.get(index, row.interval)
            held[index] = Interval(min(has.start, row.interval.start), max(has.end, row.interval.end))
    return held


def candidates_for(calendar: CalendarSnapshot, request: PlanRequest, budget: Budget) -> list[Candidate]:
    """Return what could serve each demand. Raises CutShort."""
    return [candidate_for(calendar, demand, budget) for demand in request.demands]


def as_assigned(
    calendar: CalendarSnapshot, request: PlanRequest, assigned: Sequence[Assignment], budget: Budget
) -> Plan:
    """Return the plan in which each demand gets what is assigned to it. Raises CutShort."""
    choices: dict[str, Choice] = {}
    for each in assigned:
        index = calendar.index_of(each.resource_id)
        assert index is not None  # noqa: S101 - it was assigned on this calendar
        choices.setdefault(each.reservation_id, {})[index] = each.slots
    candidates = candidates_for(calendar, request, budget)
    chosen = [choices.get(each.demand.reservation_id, {}) for each in candidates]
    return _plan(calendar, request.interval, candidates, chosen)


def _outline(
    calendar: CalendarSnapshot, interval: Interval, candidates: Sequence[Candidate], choices: Sequence[Choice]
) -> PlanOutline:
    units = {
        each.demand.reservation_id: sum(choice.values())
        for each, choice in zip(candidates, choices, strict=True)
    }
    return PlanOutline(interval, units, lambda: _plan(calendar, interval, candidates, choices))


def _plan(
    calendar: CalendarSnapshot, interval: Interval, candidates: Sequence[Candidate], choices: Sequence[Choice]
) -> Plan:
    assignments: list[Assignment] = []
    added: list[Assignment] = []
    kept: list[Kept] = []
    released: list[Allocation] = []
    for served, choice in zip(candidates, choices, strict=True):
        demand = served.demand
        if not demand.current:
            made = _assignments(calendar, demand, choice)
            assignments += made
            added += made
            continue
        rows: dict[str, list[Allocation]] = {}
        for row in sorted(demand.current, key=lambda row: not row.bound):
            rows.setdefault(row.resource_id, []).append(row)
        for index in sorted(choice, key=calendar.rank.__getitem__):
            assignment = Assignment(demand.reservation_id, calendar.id_at(index), demand.usage, choice[index])
            assignments.append(assignment)
            if assignment.resource_id in rows:
                stay, go, more = _divided(rows.pop(assignment.resource_id), assignment, interval)
                kept += stay
                released += go
                added += [replace(assignment, slots=more)] if more else []
            else:
                added.append(assignment)
        released += (row for here in rows.values() for row in here)
    touched = [a.resource_id for a in added] + [row.resource_id for row in released]
    touched += [k.old.resource_id for k in kept if k.is_changed]
    changed = _generations(calendar, touched)
    relied_on = _generations(calendar, [a.resource_id for a in assignments if a.resource_id not in changed])
    return Plan(interval, tuple(assignments), tuple(added), tuple(kept), tuple(released), changed, relied_on)


def _assignments(calendar: CalendarSnapshot, demand: Demand, choice: Choice) -> list[Assignment]:
    """Return what a demand gets that has nothing yet, in database order."""
    indexes = np.fromiter(choice, np.int64, len(choice))
    in_order = indexes[np.argsort(calendar.rank[indexes])].tolist()
    reservation_id, usage = demand.reservation_id, demand.usage
    return [Assignment(reservation_id, calendar.id_at(index), usage, choice[index]) for index in in_order]


def _generations(calendar: CalendarSnapshot, names: Sequence[str]) -> dict[str, int]:
    found = {name: calendar.generation_of(name) for name in names}
    return {name: generation for name, generation in found.items() if generation is not None}


def _divided(
    rows: Sequence[Allocation], assignment: Assignment, interval: Interval
) -> tuple[list[Kept], list[Allocation], int]:
    """Divide the rows on a resource into those that stay and those that are no longer needed. Return also how
    many slots are to be added by a row of their own.

    The first row that is not bound has all slots that are new. A bound one never grows: what is new may have
    to wait until an earlier lease has left the resource, and is not bound before."""
    more = max(0, assignment.slots - sum(row.slots for row in rows))
    left = assignment.slots - more
    stay: list[Kept] = []
    go: list[Allocation] = []
    for row in rows:
        slots = min(row.slots, left)
        left -= slots
        if slots:
            new_slots, more = (slots, more) if row.bound else (slots + more, 0)
            stay.append(Kept(row, replace(row, interval=interval, usage=assignment.usage, slots=new_slots)))
        else:
            go.append(row)
    return stay, go, more


def _shortage(calendar: CalendarSnapshot, attempt: Attempt, budget: Budget, cut_short: bool) -> Shortage:
    """Tell the shortage of the first demand that does not fit alone, else of the last one. Raises
    CutShort."""
    numbers = range(len(attempt.candidates))
    failing = next((number for number in numbers if not attempt.could_be_alone(number, budget)), None)
    number = len(attempt.candidates) - 1 if failing is None else failing
    served = attempt.candidates[number]
    demand = served.demand
    cause, names = (Cause.COMBINATION, ()) if failing is None else _cause(calendar, attempt, number)
    units = attempt.capacity.alone(number)
    free = units.max(initial=0) if demand.grouping is Grouping.TOGETHER else units.sum()
    unknown = frozenset(n for n in demand.requirement.names if not calendar.columns.knows(n))
    return Shortage(
        reservation_id=demand.reservation_id,
        plural=demand.plural,
        cause=cause,
        wanted=demand.minimum,
        matched=int((served.matching & calendar.columns.reservable).sum()),
        free=int(free),
        buffered=int((served.matching & calendar.columns.reservable & calendar.held_by(BUFFER_ID)).sum()),
        unknown_properties=unknown,
        # Else a member could tell a private property from one that is not there.
        parts=() if unknown else _parts(calendar, demand, budget),
        resources=names,
        grouping=demand.grouping,
        is_whole=served.is_whole,
        # A demand that does not fit alone is decided, however the search ended.
        cut_short=cut_short and failing is None,
    )


def _parts(calendar: CalendarSnapshot, demand: Demand, budget: Budget) -> tuple[PartMatch, ...]:
    """Return how many resources each part of the demand leaves by itself. Raises CutShort.

    The cost is as that of the candidate; there are no more than MOST_PARTS."""
    columns, found = calendar.columns, []
    none: frozenset[str] = frozenset()
    for part in demand.requirement.parts[:MOST_PARTS]:
        budget.spend(part.passes * (1 + columns.size // 4000))
        found.append((part.text[:LONGEST_PART], part.mask(columns)))
    for trait in sorted(demand.required_traits)[:MOST_PARTS]:
        found.append((f"trait {trait}", columns.matching(ANYTHING, frozenset({trait}), none, WHOLE)))
    for trait in sorted(demand.forbidden_traits)[:MOST_PARTS]:
        found.append((f"no trait {trait}", columns.matching(ANYTHING, none, frozenset({trait}), WHOLE)))
    budget.spend(of_array(columns.size, len(found) + 1))
    if demand.usage.amounts:
        sizes = ", ".join(f"{n} {name}" for name, n in sorted(demand.usage.amounts.items()))
        found.append((f"room for {sizes}", columns.matching(ANYTHING, none, none, demand.usage)))
    return tuple(PartMatch(text, int((mask & columns.reservable).sum())) for text, mask in found)


def undecided(request: PlanRequest) -> Shortage:
    """Return the shortage that tells that the budget was spent before anything was found."""
    demand = request.demands[0]
    return Shortage(
        demand.reservation_id,
        demand.plural,
        Cause.UNDECIDED,
        demand.minimum,
        matched=0,
        free=0,
        cut_short=True,
    )


def _cause(calendar: CalendarSnapshot, attempt: Attempt, number: int) -> tuple[Cause, tuple[str, ...]]:
    """Tell why a demand does not fit alone, and which resources that is about."""
    served = attempt.candidates[number]
    demand = served.demand
    units = attempt.capacity.alone(number)
    lacking = [calendar.id_at(index) for index, slots in served.needed.items() if units[index] < slots]
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
