"""The way from a decision to a lease: plan on a snapshot, commit with the generations it was made on, else
plan again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.errors import (
    BlazarError,
    Busy,
    CloudUnavailable,
    InvalidInput,
    NotEnoughResources,
    NotFound,
    OutcomeUnknown,
    Stale,
    TooLate,
)
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.lease.waiting import Starts
from blazar.domain.planning.availability import AvailabilitySearch, Objection, Requests, Rules
from blazar.domain.planning.budget import Budget, CutShort
from blazar.domain.planning.demand import Demand, Order, PlanRequest
from blazar.domain.planning.line import Wish, could_fit, promotion
from blazar.domain.planning.plan import Plan, PlanOutline, Shortage
from blazar.domain.planning.planner import undecided
from blazar.domain.resource import Allocation, Pool
from blazar.domain.time import Interval
from blazar.service.calendars import Calendars
from blazar.service.contention import Intent
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.polling import DATABASE_PAUSES, until
from blazar.service.ports import Clock
from blazar.service.ports.kind import Kinds
from blazar.service.regions import RegionChoice
from blazar.service.shortages import refusal_of

T = TypeVar("T")
ATTEMPTS = 40
COMES_BACK_WITHIN = timedelta(seconds=30)
"""How long a request waits for a lost database to tell what became of a commit, where its caller sets no
deadline."""
LONGEST_PAUSE = 0.1
"""The most seconds between two attempts; half of it on average, so that many requests do not stay in step."""


@dataclass(frozen=True, slots=True)
class PlanningSettings:
    """The operator's settings for the choice of resources."""

    order: Order = Order.PACKED
    cleaning: timedelta = timedelta(0)
    max_reservations: int = 64
    """How many reservations a new lease may have."""


class LooksAtPlans(Protocol):
    """What is beside the calendars, such as quotas, and may have something to say against a plan."""

    def refusal(self, lease: Lease, plan: PlanOutline) -> BlazarError | None: ...

    def rules(self, lease: Lease, spend: Callable[[int], None]) -> Rules: ...


class Admission:
    """Plans for leases, on the resident calendars."""

    def __init__(
        self,
        calendars: Calendars,
        kinds: Kinds,
        settings: PlanningSettings,
        clock: Clock,
        metrics: Metrics = NO_METRICS,
        regions: Sequence[str] = (),
    ) -> None:
        """``regions`` are the names of all regions, the first one first."""
        self._regions: Sequence[str | None] = (None, *regions[1:])
        self._calendars = calendars
        self._clock = clock
        self._kinds = kinds
        self._settings = settings
        self._metrics = metrics

    def plan(
        self,
        reservations: Sequence[Reservation],
        interval: Interval,
        caller: Caller,
        given_up: Collection[str] = (),
        intent: Intent | None = None,
    ) -> Plan:
        """Return the allocations of all reservations together in ``interval``. What the reservations
        ``given_up`` have does not count, by their ids. A plan that is to be committed is stated in
        ``intent``.

        Raises NotEnoughResources with the reason, TooLate after the caller's deadline, and InvalidInput where
        a new lease has more reservations than the operator allows."""
        requests = self.requests(reservations, interval, given_up)
        if not requests:
            return Plan(interval)
        began = time.perf_counter()  # a duration, not a time of day
        outcome = self._calendars.plan(requests, caller, intent)
        cause = str(outcome.cause) if isinstance(outcome, Shortage) else None
        self._metrics.planned(cause, time.perf_counter() - began)
        if isinstance(outcome, Shortage):
            raise self.refusal(reservations, outcome)
        return outcome

    def intent(self) -> AbstractContextManager[Intent]:
        """Plan and commit inside the block, as ``Calendars.intent`` says."""
        return self._calendars.intent()

    def in_regions(
        self,
        lease: Lease,
        caller: Caller,
        latest: datetime | None = None,
        only: Collection[str] | None = None,
    ) -> Lease:
        """Return the lease with a region for each of its reservations that may lie anywhere, or for those
        ``only``, by id, as RegionChoice says. Raises TooLate."""
        free = [
            each.id
            for each in lease.reservations
            if self._kinds[each.resource_type].is_regional and (only is None or each.id in only)
        ]
        if len(self._regions) == 1 or not free:
            return lease

        def requests(asked: Lease) -> Requests:
            return self.requests(asked.reservations, asked.interval)

        with self.searching(caller) as search:
            return RegionChoice(self._regions, requests, search, latest).of(lease, free)

    def examine(self, caller: Caller, examination: Callable[[Budget], T]) -> T:
        """Run a question about calendars, as ``Calendars.examine`` does."""
        return self._calendars.examine(caller, examination)

    def copy(self, pool: Pool) -> Calendar:
        """Return a copy of the pool's calendar, as ``Calendars.copy`` does."""
        return self._calendars.copy(pool)

    def latest(self, pool: Pool) -> CalendarSnapshot:
        """Return the pool's calendar as it was read last, as ``Calendars.latest`` does."""
        return self._calendars.latest(pool)

    def searching(self, caller: Caller) -> AbstractContextManager[AvailabilitySearch]:
        """Search in the calendars, as ``Calendars.searching`` does."""
        return self._calendars.searching(caller)

    def earliest(self, lease: Lease, latest: datetime, objections: LooksAtPlans, caller: Caller) -> Plan:
        """Return the allocations of the lease's reservations at the earliest start, from the lease's own to
        ``latest``, at which they can be had and nothing has to be said against it.

        Where there is none, raises QuotaExceeded or UsageRefused if there is enough at one that these do not
        allow, else NotEnoughResources as at the lease's own start."""
        requests = self.requests(lease.reservations, lease.interval)
        if not requests:
            return Plan(lease.interval)
        refused: list[PlanOutline] = []
        with self.searching(caller) as search:
            allowed = objections.rules(lease, search.spend)

            def rules(plan: PlanOutline) -> Objection | None:
                objection = allowed(plan)
                refused.extend([plan] if objection else [])
                return objection

            try:
                if (found := search.earliest(requests, latest, rules)) is not None:
                    return found.plan
                short = search.plan(requests)
            except CutShort:
                short = undecided(next(iter(requests.values())))
        refusal = objections.refusal(lease, refused[-1]) if refused else None
        if refusal is None and isinstance(short, Shortage):
            refusal = self.refusal(lease.reservations, short)
        raise refusal or Busy()

    def could_fit(self, lease: Lease, caller: Caller) -> bool:
        """Return whether the lease would fit if nothing else were reserved, as far as that is found out."""
        requests = self.requests(lease.reservations, lease.interval)
        with self.searching(caller) as search:
            try:
                return could_fit(search, Wish(requests, lease.interval.start))
            except CutShort:
                return True

    def wish(self, lease: Lease, starts: Starts) -> Wish:
        """Return what a waiting lease asks for now."""
        return Wish(self.requests(lease.reservations, starts.interval), starts.latest)

    def promotion(
        self, lease: Lease, wish: Wish, ahead: Sequence[Wish], objections: LooksAtPlans, caller: Caller
    ) -> tuple[Plan | None, bool]:
        """Return the plan of the next lease in line, which takes nothing from those ``ahead`` of it; None
        where it has to wait. Tell as well whether others have to leave it what suits it."""
        with self.searching(caller) as search:
            try:
                found, is_left = promotion(search, wish, ahead, objections.rules(lease, search.spend))
            except CutShort:
                return None, True
            return None if found is None else found.plan, is_left

    def refusal(self, reservations: Sequence[Reservation], shortage: Shortage) -> NotEnoughResources:
        """Return the error for the user when the calendars have not enough for the reservations."""
        short = next(r for r in reservations if r.id == shortage.reservation_id)
        return refusal_of(short, shortage, self._kinds)

    def committed(self, plan: Plan, lease: Lease) -> None:
        """Tell the calendars that a new lease is stored as planned."""
        self._calendars.committed(plan.generations, lease.allocations)

    def committed_together(self, generations: Mapping[str, int], leases: Iterable[Lease]) -> None:
        """Tell the calendars that new leases are stored by one commit, which compared these generations."""
        self._calendars.committed(generations, [each for lease in leases for each in lease.allocations])

    @property
    def cleaning(self) -> timedelta:
        """Return how long a resource is kept free between two leases."""
        return self._settings.cleaning

    def require_few(self, number: int) -> None:
        """Raise InvalidInput where a lease may not have so many reservations."""
        most = self._settings.max_reservations
        if number > most:
            raise InvalidInput(f"A lease may have at most {most} reservations.")

    def requests(
        self, reservations: Sequence[Reservation], interval: Interval, given_up: Collection[str] = ()
    ) -> dict[Pool, PlanRequest]:
        """Return what the reservations ask of each calendar. Raises InvalidInput where a new lease has more
        of them than the operator allows."""
        # A lease that was made under a higher limit may still be changed.
        if not any(reservation.allocations for reservation in reservations):
            self.require_few(len(reservations))
        demands: dict[Pool, list[Demand]] = {}
        for reservation in reservations:
            kind = self._kinds[reservation.resource_type]
            demands.setdefault(kind.pool_of(reservation), []).append(kind.demand(reservation))
        settings = self._settings
        return {
            pool: PlanRequest(
                interval,
                tuple(of_pool),
                settings.cleaning,
                settings.order,
                random.getrandbits(32),
                frozenset(given_up),
            )
            for pool, of_pool in demands.items()
        }

    def until_committed(self, attempt: Callable[[], T], deadline: datetime | None = None) -> T:
        """Run plan-and-commit until no other request is faster, but not after ``deadline``. ``attempt`` must
        find its own work: it is run again where the database is lost during a commit, to find out what became
        of it.

        Raises Busy after too many rounds, OutcomeUnknown where the database does not come back."""
        for number in range(ATTEMPTS):
            try:
                return attempt()
            except _StoredOrStale as unsure:
                return self._find_out(attempt, unsure.lost, deadline)
            except Stale:
                self._metrics.plan_conflicted()
                if deadline is not None and self._clock.now() >= deadline:
                    break
                # Usually what was changed just now is enough. What was changed with a clock that is behind
                # ours, or in a transaction that took very long, is only found by comparing everything.
                self._calendars.refresh(in_full=number > 0)
                self._clock.pause(random.uniform(0, LONGEST_PAUSE * min(number + 1, 10) / 10))  # noqa: S311 - no secret
            except OutcomeUnknown as lost:
                return self._find_out(attempt, lost, deadline)
        raise Busy()

    def _find_out(self, attempt: Callable[[], T], lost: OutcomeUnknown, deadline: datetime | None) -> T:
        """Run ``attempt`` until the database answers, for as long as the caller waits: only the database
        knows what was stored. Raises ``lost`` where that is not found out."""
        for _ in self._while_away(deadline):
            try:
                return attempt()
            except Stale:
                self._calendars.refresh(in_full=True)
            except Busy:
                continue
            except CloudUnavailable as still:
                _require_same_service(still, lost)
            except NotFound:
                raise  # it is so, whatever was stored
            except BlazarError as refusal:
                # The change may be stored, and refused now for what has happened since.
                raise lost from refusal
        raise lost

    def commit_once(self, commit: Callable[[], T], deadline: datetime | None = None) -> T:
        """Run ``commit``, which compares and sets, such that each outcome but one is certain.

        The connection may be lost while the database commits. Then ``commit`` is run again until the database
        answers: the second comparison waits for the end of the first transaction, and fails with Stale where
        that one was stored. A plain read would not do: the first commit may still be under way while it
        looks.

        Raises Stale where this change or another one was stored: read again. Raises OutcomeUnknown where the
        database does not come back in time: what the change refers to may be in use, and must stay."""
        try:
            return commit()
        except OutcomeUnknown as lost:
            for _ in self._while_away(deadline):
                try:
                    return commit()
                except TooLate:
                    raise
                except Stale as stale:
                    raise _StoredOrStale(lost) from stale
                except Busy:
                    continue
                except CloudUnavailable as still:
                    _require_same_service(still, lost)
            raise lost from None

    def _while_away(self, deadline: datetime | None) -> Iterator[None]:
        self._clock.pause(DATABASE_PAUSES.first)
        return until(deadline or self._clock.now() + COMES_BACK_WITHIN, self._clock, DATABASE_PAUSES)


class _StoredOrStale(Stale):
    """The outcome of a commit is not known, and when it was run again, something had changed: this change was
    stored, or another one."""

    def __init__(self, lost: OutcomeUnknown) -> None:
        super().__init__()
        self.lost = lost


def _require_same_service(still: CloudUnavailable, lost: CloudUnavailable) -> None:
    """Raise what is not the loss of the same service."""
    if still.fields.get("service") != lost.fields.get("service"):
        raise still


def with_allocations(lease: Lease, plan: Plan, new_id: Callable[[], str] = new_id) -> Lease:
    """Return the lease with what the plan gives to each of its reservations.

    An allocation that is kept in a lease that has begun keeps its start: the plan looks only at the time
    ahead."""
    kept = {k.old.id: k.new for k in plan.kept}
    added: dict[str, list[Allocation]] = {}
    for each in plan.added:
        added.setdefault(each.reservation_id, []).append(
            Allocation(
                id=new_id(),
                reservation_id=each.reservation_id,
                lease_id=lease.id,
                resource_id=each.resource_id,
                interval=plan.interval,
                usage=each.usage,
                slots=each.slots,
            )
        )
    reservations = []
    for reservation in lease.reservations:
        stay = [
            replace(
                kept[old.id],
                interval=Interval(min(old.interval.start, plan.interval.start), plan.interval.end)
                if old.bound
                else kept[old.id].interval,
            )
            for old in reservation.allocations
            if old.id in kept
        ]
        reservations.append(replace(reservation, allocations=(*stay, *added.get(reservation.id, ()))))
    return replace(lease, reservations=tuple(reservations))
