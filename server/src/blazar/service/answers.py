"""Answers to "when can I have it?": up to six leases that could be made, the best one first.

The question is a lease without a name, a range of starts and a range of durations. The answers, in this
order, without those that say the same:

1. all of it, at the earliest start of the range at which there is enough;
2. at the first start of the range, but fewer;
3. at the first start of the range, but for a shorter time;
4. for a shorter time, before there is enough for the whole one;
5. where 1. has fewer than the most that is wanted: the earliest start for the most;
6. where alternatives are asked for, all of it at the first start, with another requirement or of another size
   (``service.alternatives``).

An answer is what a create of the same lease would get at this moment. It holds nothing: the resources may be
gone a moment later. Quotas and the usage filters that keep no books take part, so that what they would refuse
is no answer. Nothing is written. The cloud is asked what a create asks before it plans and, with
alternatives, for other sizes; no turn is kept meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from blazar.domain.errors import BlazarError, QuotaExceeded
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.availability import AvailabilitySearch, Requests, Rules, lasting
from blazar.domain.planning.blocking import Blocking
from blazar.domain.planning.budget import CutShort
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.plan import PlanOutline, Shortage
from blazar.domain.quota import OF_LEASES
from blazar.domain.time import MINUTE, Interval
from blazar.service.admission import Admission, LooksAtPlans
from blazar.service.alternatives import MOST_VALUES, Alternative, Replaced, RequirementPart, without_a_part
from blazar.service.commands import ReservationRequest
from blazar.service.ports.kind import Kinds

MOST_ANSWERS = 6
SMALLER = 3
"""How often fewer are tried, where quotas or other reservations allow less than the calendar has."""


class Change(StrEnum):
    """What of an answer is not as it was asked for."""

    START = "start"
    DURATION = "duration"
    AMOUNT = "amount"
    REQUIREMENT = "requirement"
    SIZE = "size"


@dataclass(frozen=True, slots=True)
class AvailabilityAnswer:
    """A lease that could be made: its interval, its reservations as they are to be sent, and how many units
    (hosts, servers, addresses) each of them would get."""

    interval: Interval
    changes: tuple[Change, ...]
    description: str
    reservations: tuple[ReservationRequest, ...]
    units: tuple[int, ...]
    replaced: tuple[Replaced, ...] = ()
    """What is asked for instead of what was, where that is not about numbers or times."""


@dataclass(frozen=True, slots=True)
class Availability:
    """The answers, the best one first.

    ``reason`` tells why it cannot be had as it was asked for, at the first start of the range; None where it
    can. ``cut_short`` tells that there may be other or earlier answers, for not all was searched."""

    answers: tuple[AvailabilityAnswer, ...]
    reason: str | None = None
    cut_short: bool = False


@dataclass(frozen=True, slots=True)
class Explained:
    """The answers, and the leases that stand in the way of what was asked for, with the number of those that
    are not among them."""

    found: Availability
    blocking: Sequence[Blocking] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question with its dates read, its lease checked, and what may be said against plans for it.

    ``sent`` are the reservations as they are to be sent. The interval of a lease that has begun is what is
    left of it; ``begun`` is when it did."""

    lease: Lease
    sent: Sequence[ReservationRequest]
    latest: datetime
    shortest: timedelta
    objections: LooksAtPlans
    alternatives: bool = False
    begun: datetime | None = None
    given_up: Sequence[ReservationRequest] = ()
    """The reservations that the lease gives up by the same change, as they are to be sent."""

    def whole(self, interval: Interval) -> Interval:
        """Return the interval of the lease for what is planned of it."""
        return Interval(self.begun or interval.start, interval.end)


class AnswerSearch:
    """The search for the answers to one question."""

    def __init__(
        self,
        inquiry: Inquiry,
        admission: Admission,
        kinds: Kinds,
        search: AvailabilitySearch,
    ) -> None:
        self.inquiry = inquiry
        self._lease = inquiry.lease
        self._admission = admission
        self._kinds = kinds
        self._search = search
        self._answers: list[AvailabilityAnswer] = []
        self._reason: str | None = None
        self._shortage: Shortage | None = None
        self.is_cut_short = False

    def found(self) -> Availability:
        return Availability(tuple(self._answers[:MOST_ANSWERS]), self._reason, self.is_cut_short)

    @property
    def is_full(self) -> bool:
        return len(self._answers) >= MOST_ANSWERS

    @property
    def short_number(self) -> int | None:
        """Return the number of the reservation that is short; None where alternatives are not asked for, or
        tell which properties there are."""
        short = self._shortage
        if short is None or short.unknown_properties or not self.inquiry.alternatives:
            return None
        return [each.id for each in self._lease.reservations].index(short.reservation_id)

    def look(self) -> None:
        """Look for the answers."""
        self._until_cut_short(self._look)

    def look_at(self, others: Sequence[Alternative], search: AvailabilitySearch) -> None:
        """Look whether these alternatives could be had, in another search."""
        self._search = search
        self._until_cut_short(lambda: self._first_of(others))

    def latest_end(self) -> datetime:
        """Return the latest end, up to that of the lease, that it can have. Where there is none, that is the
        one that it has, a minute before that of the shortest duration. Raises CutShort."""
        requests, rules = self._requests(self._lease), self._rules(self._lease)
        found = self._search.fitting(requests, rules)
        found = found or self._search.longest(requests, self.inquiry.shortest, rules)
        has = self._lease.interval.start + self.inquiry.shortest - MINUTE
        return has if found is None else found.interval.end

    def blocking(self) -> tuple[Sequence[Blocking], int]:
        """Return the leases in the way of what is short, and the number of those that are not among them."""
        short = self._shortage
        if short is None or short.unknown_properties:
            return (), 0
        try:
            return self._search.blocking(self._requests(self._lease), short)
        except CutShort:
            self.is_cut_short = True
            return (), 0

    def _until_cut_short(self, look: Callable[[], object]) -> None:
        try:
            look()
        except CutShort:
            self.is_cut_short = True
        self.is_cut_short = self.is_cut_short or not self._search.is_exact

    def _look(self) -> None:
        requests = self._requests(self._lease)
        asked = self._search.plan(requests)
        self._shortage = asked if isinstance(asked, Shortage) else None
        refusal = self._refusal(self._lease, asked)
        self._reason = refusal.message if refusal else None
        if refusal is None and isinstance(asked, PlanOutline):
            whole: PlanOutline | None = asked
        else:
            whole = self._search.earliest(requests, self.inquiry.latest, self._rules(self._lease))
        self._add(self._lease, whole)
        if refusal is not None:
            self._fewer(asked)
            self._shorter(requests, whole)
        if whole is not None:
            self._the_most(whole)
        self._relaxed()

    # something else

    def _relaxed(self) -> None:
        """Look for the same at the first start, with a part of the requirement left out or replaced."""
        if (number := self.short_number) is None:
            return
        reservation = self._lease.reservations[number]
        kind = self._kinds[reservation.resource_type]
        for without, part in without_a_part(number, reservation, kind):
            if self.is_full:
                return
            found = self._fitting(without)
            if found is not None and not self._first_of(self._with_other_values(part, found)):
                self._add(without.of(self._lease), found, without)

    def _with_other_values(self, part: RequirementPart, found: PlanOutline) -> Sequence[Alternative]:
        """Return the part with the values that the resources of a plan have in place of the one that is asked
        for."""
        if part.equal is None:
            return ()
        (name, asked), reservation = part.equal, part.reservation
        pool = self._kinds[reservation.resource_type].pool_of(reservation)
        texts = self._search.terms(pool, name, found.plan.resources(reservation.id))
        others = (part.with_value(name, text) for text in texts if text and text != asked)
        return [each for each in islice(others, MOST_VALUES) if each is not None]

    def _first_of(self, others: Sequence[Alternative]) -> bool:
        """Add the first of these that can be had at the first start; return whether there is one."""
        for other in others:
            found = self._fitting(other)
            if found is not None:
                self._add(other.of(self._lease), found, other)
                return True
        return False

    def _fitting(self, other: Alternative) -> PlanOutline | None:
        lease = other.of(self._lease)
        return self._search.fitting(self._requests(lease), self._rules(lease))

    # what else could be had

    def _fewer(self, asked: PlanOutline | Shortage) -> None:
        """Look for fewer at the first start. The reservation that is short is reduced alone, if that does,
        else all of them."""
        plan = asked if isinstance(asked, PlanOutline) else self._reduced(asked)
        limits = self._limits(plan) if plan else None
        for _ in range(SMALLER):
            lease = self._smaller(limits) if limits else None
            if lease is None:
                return
            found = self._search.plan(self._requests(lease))
            refusal = self._refusal(lease, found)
            if refusal is None and isinstance(found, PlanOutline):
                self._add(lease, found)
            if not (isinstance(refusal, QuotaExceeded) and isinstance(found, PlanOutline)):
                return
            limits = self._within(refusal, lease, found)

    def _limits(self, plan: PlanOutline) -> dict[str, int]:
        """Return how many units each reservation may ask for, so that it gets what it has in the plan."""
        demands = [self._demand(each) for each in self._lease.reservations]
        got = [plan.units(demand.reservation_id) for demand in demands]
        return {
            demand.reservation_id: demand.maximum if units >= demand.minimum else units
            for demand, units in zip(demands, got, strict=True)
        }

    def _reduced(self, shortage: Shortage) -> PlanOutline | None:
        """Return a plan with as much as can be had at the first start, at least one unit of each
        reservation."""
        every = frozenset(reservation.id for reservation in self._lease.reservations)
        for reduced in (frozenset({shortage.reservation_id}), every):
            found = self._search.plan(_relaxed(self._requests(self._lease), reduced))
            if isinstance(found, PlanOutline):
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

    def _within(self, exceeded: QuotaExceeded, lease: Lease, plan: PlanOutline) -> dict[str, int] | None:
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

    def _shorter(self, requests: Requests, whole: PlanOutline | None) -> None:
        """Look for a shorter time: at the first start, and, where that is none, at the earliest one before
        the whole time can be had."""
        shortest, rules = self.inquiry.shortest, self._rules(self._lease)
        if shortest == self._lease.interval.duration:
            return
        found = self._search.longest(requests, shortest, rules)
        if found is None:
            latest = self.inquiry.latest if whole is None else whole.interval.start - MINUTE
            short = {pool: lasting(each, shortest // MINUTE) for pool, each in requests.items()}
            found = self._search.earliest(short, latest, rules)
            if found is not None:
                found = self._lengthened(requests, found, rules)
        self._add(self._lease, found)

    def _lengthened(self, requests: Requests, found: PlanOutline, rules: Rules) -> PlanOutline:
        """Return a plan with the start of ``found`` that lasts as long as can be."""
        start, duration = found.interval.start, self._lease.interval.duration
        moved = {
            pool: replace(each, interval=Interval(start, start + duration)) for pool, each in requests.items()
        }
        return self._search.longest(moved, found.interval.duration, rules) or found

    def _the_most(self, whole: PlanOutline) -> None:
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
        self._add(lease, self._search.earliest(requests, self.inquiry.latest, self._rules(lease)))

    # the rules beside the calendar

    def _rules(self, lease: Lease) -> Rules:
        return self.inquiry.objections.rules(lease, self._search.spend)

    def _refusal(self, lease: Lease, outcome: PlanOutline | Shortage) -> BlazarError | None:
        """Return what a create would answer; None where it would be done."""
        if isinstance(outcome, Shortage):
            return self._admission.refusal(lease.reservations, outcome)
        return self.inquiry.objections.refusal(lease, outcome)

    # answers

    def _add(self, lease: Lease, plan: PlanOutline | None, other: Alternative | None = None) -> None:
        if plan is None:
            return
        answer = self._answer(lease, plan, other)
        said = (answer.interval, answer.units, answer.replaced)
        if all((each.interval, each.units, each.replaced) != said for each in self._answers):
            self._answers.append(answer)

    def _answer(self, lease: Lease, plan: PlanOutline, other: Alternative | None) -> AvailabilityAnswer:
        told = self._told(plan, other)
        parts = [part for words in told.values() for part in words] or ["as asked for"]
        sent = zip(self.inquiry.sent, self._lease.reservations, lease.reservations, strict=True)
        return AvailabilityAnswer(
            self.inquiry.whole(plan.interval),
            tuple(told),
            "; ".join(parts),
            (*(self._request(*each, other) for each in sent), *self.inquiry.given_up),
            (*(plan.units(each.id) for each in lease.reservations), *(0 for _ in self.inquiry.given_up)),
            () if other is None else (other.replaced,),
        )

    def _told(self, plan: PlanOutline, other: Alternative | None) -> Mapping[Change, list[str]]:
        """Return what is not as it was asked for, in words."""
        asked, got = self.inquiry.whole(self._lease.interval), self.inquiry.whole(plan.interval)
        fewer = [
            f"{old.resource_type}: {plan.units(old.id)} instead of {least}"
            for old in self._lease.reservations
            if plan.units(old.id) < (least := self._demand(old).minimum)
        ]
        later = [f"starts {in_words(got.start - asked.start)} later"]
        shorter = [f"lasts {in_words(got.duration)} instead of {in_words(asked.duration)}"]
        told = {
            Change.START: later if got.start != asked.start else [],
            Change.DURATION: shorter if got.duration != asked.duration else [],
            Change.AMOUNT: fewer,
        }
        if other is not None:
            told[Change.SIZE if other.is_size else Change.REQUIREMENT] = [other.replaced.words]
        return {each: words for each, words in told.items() if words}

    def _request(
        self, request: ReservationRequest, old: Reservation, new: Reservation, other: Alternative | None
    ) -> ReservationRequest:
        if new is old:
            return request
        if other is not None:
            return replace(request, parameters={**request.parameters, **other.sent})
        kind = self._kinds[old.resource_type]
        units = self._demand(new).maximum
        return replace(request, parameters={**request.parameters, **kind.with_units(kind.asked(old), units)})

    # reservations

    def _requests(self, lease: Lease) -> Requests:
        given_up = [str(each.parameters["id"]) for each in self.inquiry.given_up]
        return self._admission.requests(lease.reservations, lease.interval, given_up)

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
