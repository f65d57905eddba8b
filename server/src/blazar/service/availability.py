"""Answers to "when can I have it?": up to six leases that could be made, the best one first.

The question is a lease without a name, a range of starts and a range of durations. The answers, in this
order, without those that say the same:

1. all of it, at the earliest start of the range at which there is enough;
2. at the first start of the range, but fewer;
3. at the first start of the range, but for a shorter time;
4. for a shorter time, before there is enough for the whole one;
5. where 1. has fewer than the most that is wanted: the earliest start for the most.

An answer is what a create of the same lease would get at this moment. It holds nothing: the resources may be
gone a moment later. Quotas and the usage filters that keep no books take part, so that what they would refuse
is no answer. Nothing is written, and the cloud is asked no more than a create asks before it plans."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from blazar.domain.errors import BlazarError, InvalidInput, QuotaExceeded
from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.availability import AvailabilitySearch, Requests, Rules, lasting
from blazar.domain.planning.budget import CutShort
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import Plan, Shortage
from blazar.domain.quota import OF_LEASES
from blazar.domain.time import HORIZON, MINUTE, Interval, floor_minute
from blazar.service.admission import Admission
from blazar.service.commands import AvailabilityQuestion, ReservationRequest
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.leases.dates import moment_of
from blazar.service.leases.drafts import draft_reservation
from blazar.service.objections import LeaseObjections, Objections
from blazar.service.ports import Clock
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation

MOST_ANSWERS = 6
SMALLER = 3
"""How often fewer are tried, where quotas or other reservations allow less than the calendar has."""


class Change(StrEnum):
    """What of an answer is not as it was asked for."""

    START = "start"
    DURATION = "duration"
    AMOUNT = "amount"


@dataclass(frozen=True, slots=True)
class AvailabilityAnswer:
    """A lease that could be made: its interval, its reservations as they are to be sent, and how many units
    (hosts, servers, addresses) each of them would get."""

    interval: Interval
    changes: tuple[Change, ...]
    description: str
    reservations: tuple[ReservationRequest, ...]
    units: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Availability:
    """The answers, the best one first.

    ``reason`` tells why it cannot be had as it was asked for, at the first start of the range; None where it
    can. ``cut_short`` tells that there may be other or earlier answers, for not all was searched."""

    answers: tuple[AvailabilityAnswer, ...]
    reason: str | None = None
    cut_short: bool = False


@dataclass(frozen=True, slots=True)
class _Question:
    """A question with its dates read, its lease checked, and what the project may use."""

    lease: Lease
    asked: AvailabilityQuestion
    latest: datetime
    shortest: timedelta
    objections: LeaseObjections


class AvailabilityUseCases:
    """The use case of questions for availability, in this process."""

    def __init__(
        self,
        admission: Admission,
        preparation: Preparation,
        kinds: Kinds,
        clock: Clock,
        objections: Objections,
    ) -> None:
        self._admission = admission
        self._preparation = preparation
        self._kinds = kinds
        self._clock = clock
        self._objections = objections

    def ask(self, question: AvailabilityQuestion, caller: Caller) -> Availability:
        """Return when the reservations could be had."""
        read = self._question(question, caller)
        with self._admission.searching(caller) as search:
            return _Inquiry(read, self._admission, self._kinds, search).answered()

    def _question(self, asked: AvailabilityQuestion, caller: Caller) -> _Question:
        now = self._clock.now()
        draft = self._draft(asked, caller, floor_minute(now))
        latest = now + HORIZON - asked.duration
        if asked.latest_start is not None:
            latest = min(latest, floor_minute(asked.latest_start))
        shortest = asked.duration if asked.shortest is None else asked.shortest
        if asked.latest_start is not None and latest < draft.interval.start:
            raise InvalidInput("The latest start must not be before the earliest one.")
        if not MINUTE <= shortest <= asked.duration:
            raise InvalidInput("The shortest duration must not be longer than the wanted one.")
        lease = self._preparation.complete(None, draft, caller)
        return _Question(lease, asked, latest, shortest, self._objections.of(lease, caller))

    def _draft(self, asked: AvailabilityQuestion, caller: Caller, minute: datetime) -> Lease:
        if caller.project_id is None:
            raise InvalidInput("A lease belongs to a project: ask with a project-scoped token.")
        if not asked.reservations:
            raise InvalidInput("The lease has no reservations: there is nothing to look for.")
        start = moment_of(asked.start, minute)
        lease_id = new_id()
        return Lease(
            id=lease_id,
            name="",
            user_id=caller.user_id,
            project_id=caller.project_id,
            interval=change.check_new_interval(start, start + asked.duration, minute),
            reservations=tuple(draft_reservation(lease_id, each, self._kinds) for each in asked.reservations),
        )


class _Inquiry:
    """The search for the answers to one question."""

    def __init__(
        self,
        question: _Question,
        admission: Admission,
        kinds: Kinds,
        search: AvailabilitySearch,
    ) -> None:
        self._question = question
        self._lease = question.lease
        self._admission = admission
        self._kinds = kinds
        self._search = search
        self._answers: list[AvailabilityAnswer] = []
        self._reason: str | None = None

    def answered(self) -> Availability:
        cut_short = False
        try:
            self._look()
        except CutShort:
            cut_short = True
        cut_short = cut_short or not self._search.is_exact
        return Availability(tuple(self._answers[:MOST_ANSWERS]), self._reason, cut_short)

    def _look(self) -> None:
        requests = self._requests(self._lease)
        asked = self._search.plan(requests)
        refusal = self._refusal(self._lease, asked)
        self._reason = refusal.message if refusal else None
        if refusal is None and isinstance(asked, Plan):
            whole: Plan | None = asked
        else:
            whole = self._search.earliest(requests, self._question.latest, self._rules(self._lease))
        self._add(self._lease, whole)
        if refusal is not None:
            self._fewer(asked)
            self._shorter(requests, whole)
        if whole is not None:
            self._the_most(whole)

    # what else could be had

    def _fewer(self, asked: Plan | Shortage) -> None:
        """Look for fewer at the first start. The reservation that is short is reduced alone, if that does,
        else all of them."""
        plan = asked if isinstance(asked, Plan) else self._reduced(asked)
        limits = self._limits(plan) if plan else None
        for _ in range(SMALLER):
            lease = self._smaller(limits) if limits else None
            if lease is None:
                return
            found = self._search.plan(self._requests(lease))
            refusal = self._refusal(lease, found)
            if refusal is None and isinstance(found, Plan):
                self._add(lease, found)
            if not (isinstance(refusal, QuotaExceeded) and isinstance(found, Plan)):
                return
            limits = self._within(refusal, lease, found)

    def _limits(self, plan: Plan) -> dict[str, int]:
        """Return how many units each reservation may ask for, so that it gets what it has in the plan."""
        demands = [self._demand(each) for each in self._lease.reservations]
        got = [plan.units(demand.reservation_id) for demand in demands]
        return {
            demand.reservation_id: demand.maximum if units >= demand.minimum else units
            for demand, units in zip(demands, got, strict=True)
        }

    def _reduced(self, shortage: Shortage) -> Plan | None:
        """Return a plan with as much as can be had at the first start, at least one unit of each
        reservation."""
        every = frozenset(reservation.id for reservation in self._lease.reservations)
        for reduced in (frozenset({shortage.reservation_id}), every):
            found = self._search.plan(_relaxed(self._requests(self._lease), reduced))
            if isinstance(found, Plan):
                return found
        return None

    def _smaller(self, limits: Mapping[str, int]) -> Lease | None:
        """Return the lease whose reservations ask for no more units than that; None where one cannot be
        reduced so far."""
        smaller = []
        for reservation in self._lease.reservations:
            most = limits[reservation.id]
            is_reduced = most < self._demand(reservation).maximum
            changed = self._with_units(reservation, most) if is_reduced else reservation
            if changed is None:
                return None
            smaller.append(changed)
        return replace(self._lease, reservations=tuple(smaller))

    def _within(self, exceeded: QuotaExceeded, lease: Lease, plan: Plan) -> dict[str, int] | None:
        """Return how many units each reservation may ask for where all that count share what is left."""
        name, numbers = (
            str(exceeded.fields["limit_name"]),
            (exceeded.fields[n] for n in ("limit", "used", "asked")),
        )
        limit, used, asked = (number if isinstance(number, int) else 0 for number in numbers)
        if name in OF_LEASES or not asked:
            return None
        left = max(0, limit - used)
        return {
            reservation.id: plan.units(reservation.id) * left // asked
            if name.removesuffix("_hours") in self._kinds[reservation.resource_type].quantities
            else self._demand(reservation).maximum
            for reservation in lease.reservations
        }

    def _shorter(self, requests: Requests, whole: Plan | None) -> None:
        """Look for a shorter time: at the first start, and, where that is none, at the earliest one before
        the whole time can be had."""
        shortest, rules = self._question.shortest, self._rules(self._lease)
        if shortest == self._lease.interval.duration:
            return
        found = self._search.longest(requests, shortest, rules)
        if found is None:
            latest = self._question.latest if whole is None else whole.interval.start - MINUTE
            short = {pool: lasting(each, shortest // MINUTE) for pool, each in requests.items()}
            found = self._search.earliest(short, latest, rules)
            if found is not None:
                found = self._lengthened(requests, found, rules)
        self._add(self._lease, found)

    def _lengthened(self, requests: Requests, found: Plan, rules: Rules) -> Plan:
        """Return a plan with the start of ``found`` that lasts as long as can be."""
        start, duration = found.interval.start, self._lease.interval.duration
        moved = {
            pool: replace(each, interval=Interval(start, start + duration)) for pool, each in requests.items()
        }
        return self._search.longest(moved, found.interval.duration, rules) or found

    def _the_most(self, whole: Plan) -> None:
        """Look for the earliest start at which each reservation gets the most that it wants."""
        wanted = {each.id: self._demand(each).maximum for each in self._lease.reservations}
        if all(whole.units(reservation_id) == most for reservation_id, most in wanted.items()):
            return
        fullest = []
        for reservation in self._lease.reservations:
            changed = self._with_units(reservation, wanted[reservation.id])
            if changed is None:
                return
            fullest.append(changed)
        lease = replace(self._lease, reservations=tuple(fullest))
        requests = self._requests(lease)
        self._add(lease, self._search.earliest(requests, self._question.latest, self._rules(lease)))

    # the rules beside the calendar

    def _rules(self, lease: Lease) -> Rules:
        return self._question.objections.rules(lease, self._search.spend)

    def _refusal(self, lease: Lease, outcome: Plan | Shortage) -> BlazarError | None:
        """Return what a create would answer; None where it would be done."""
        if isinstance(outcome, Shortage):
            return self._admission.refusal(lease.reservations, outcome)
        return self._question.objections.refusal(lease, outcome)

    # answers

    def _add(self, lease: Lease, plan: Plan | None) -> None:
        if plan is None:
            return
        answer = self._answer(lease, plan)
        if all((each.interval, each.units) != (answer.interval, answer.units) for each in self._answers):
            self._answers.append(answer)

    def _answer(self, lease: Lease, plan: Plan) -> AvailabilityAnswer:
        asked, got = self._lease.interval, plan.interval
        fewer = [
            f"{old.resource_type}: {plan.units(old.id)} instead of {least}"
            for old in self._lease.reservations
            if plan.units(old.id) < (least := self._demand(old).minimum)
        ]
        told = {
            Change.START: [f"starts {in_words(got.start - asked.start)} later"],
            Change.DURATION: [f"lasts {in_words(got.duration)} instead of {in_words(asked.duration)}"],
            Change.AMOUNT: fewer,
        }
        is_changed = (got.start != asked.start, got.duration != asked.duration, bool(fewer))
        changes = tuple(each for each, so in zip(Change, is_changed, strict=True) if so)
        parts = [part for each in changes for part in told[each]] or ["as asked for"]
        sent = zip(
            self._question.asked.reservations, self._lease.reservations, lease.reservations, strict=True
        )
        return AvailabilityAnswer(
            got,
            changes,
            "; ".join(parts),
            tuple(self._request(*each) for each in sent),
            tuple(plan.units(each.id) for each in lease.reservations),
        )

    def _request(self, request: ReservationRequest, old: Reservation, new: Reservation) -> ReservationRequest:
        if new is old:
            return request
        kind = self._kinds[old.resource_type]
        units = self._demand(new).maximum
        return replace(request, parameters={**request.parameters, **kind.with_units(kind.asked(old), units)})

    # reservations

    def _requests(self, lease: Lease) -> Requests:
        return self._admission.requests(lease.reservations, lease.interval)

    def _demand(self, reservation: Reservation) -> Demand:
        return self._kinds[reservation.resource_type].demand(reservation)

    def _with_units(self, reservation: Reservation, units: int) -> Reservation | None:
        """Return the reservation of exactly so many units; None where there is no such one."""
        kind = self._kinds[reservation.resource_type]
        changed = kind.with_units(kind.asked(reservation), units)
        if not changed:
            return None
        return replace(reservation, parameters={**reservation.parameters, **changed})


def _relaxed(requests: Requests, reservation_ids: Collection[str]) -> Requests:
    """Return the requests where one unit of each of these reservations will do."""
    return {
        pool: replace(
            request,
            demands=tuple(
                replace(demand, minimum=min(demand.minimum, 1))
                if demand.reservation_id in reservation_ids
                else demand
                for demand in request.demands
            ),
        )
        for pool, request in requests.items()
    }


def in_words(duration: timedelta) -> str:
    """Return a duration in days, hours and minutes, such as ``1 day 2 hours``."""
    hours, minutes = divmod(duration // MINUTE, 60)
    parts = {"day": hours // 24, "hour": hours % 24, "minute": minutes}
    return " ".join(f"{n} {unit}{'' if n == 1 else 's'}" for unit, n in parts.items() if n)
