"""The calendars that this manager knows: one resident calendar per pool, kept up with the database.

A calendar may be a moment behind the other managers. That is safe: a plan carries the generations that it
stands on, and a commit on older ones is refused.

Nothing is planned under a lock: a calendar gives out immutable snapshots, and its lock is held only while it
is compared with the database."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from blazar.domain.calendar.calendar import Calendar
from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.planning.availability import AvailabilitySearch
from blazar.domain.planning.budget import DECISION, FIRST_FIT, Budget, CutShort
from blazar.domain.planning.demand import PlanRequest
from blazar.domain.planning.plan import Plan, Shortage
from blazar.domain.planning.planner import Allowance, plan, with_first_fit
from blazar.domain.resource import Allocation, Pool
from blazar.domain.time import Interval
from blazar.service.contention import Contention, Intent
from blazar.service.context import Caller
from blazar.service.offer_expiry import OfferExpiry
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar.service.short_requests import Patience, ShortRequests
from blazar.service.turns import Turns

Answer = TypeVar("Answer")
OVERLAP = timedelta(seconds=3)
"""How far each refresh looks back behind the one before: longer than a write transaction usually lasts and
clocks differ. All that was changed in this time is read with each request."""
LONG_OVERLAP = timedelta(seconds=15)
"""How far a refresh looks back from time to time: longer than any write transaction lasts."""
LONG_EVERY = timedelta(seconds=1)
"""After which it is time to."""
PROBES = 16
"""How many starts are tried, at the most, to find one that suits the demands of several pools."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one decision."""

    seconds: float = 2.0
    """Of a processor: a cap for slow machines; the steps usually end first. While others have the processor
    nothing is computed, so that time does not count."""
    decision: int = DECISION
    """Steps to find a plan, and again to find out what is short."""
    first_fit: int = FIRST_FIT
    """Steps to find the first possible start."""
    availability: int = DECISION
    """Steps to find all answers to a question for availability."""


class Calendars:
    """The resident calendars of all pools. Threads may share it. ``processor_time`` tells the seconds of a
    processor that the calling thread has taken."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        limits: Limits | None = None,
        turns: Turns | None = None,
        processor_time: Callable[[], float] = time.thread_time,
        requests: ShortRequests | None = None,
        expiry: OfferExpiry | None = None,
    ) -> None:
        self._contention = Contention(clock)
        self._database = database
        self._expiry = expiry or OfferExpiry(database, clock)
        self._clock = clock
        self._limits = limits or Limits()
        self._turns = turns or Turns()
        self._processor_time = processor_time
        self._requests = requests or ShortRequests()
        self._resident: dict[Pool, _Resident] = {}
        self._lock = threading.Lock()

    def plan(
        self, requests: Mapping[Pool, PlanRequest], caller: Caller, intent: Intent | None = None
    ) -> Plan | Shortage:
        """Plan the demands of each pool: all or nothing. Before a shortage is told, the calendar is compared
        with the database in full. A plan that is to be committed is stated in ``intent``.

        Raises TooLate as soon as the caller does not wait for the answer any more, and ValueError without any
        request."""
        with self._turn(caller) as patience:
            return self._plan_beside_others(requests, self._allowance(caller, patience), intent)

    def intent(self) -> AbstractContextManager[Intent]:
        """Plan and commit inside the block: the plans of other requests leave the resources aside until
        then."""
        return self._contention.intent()

    def examine(self, caller: Caller, examination: Callable[[Budget], Answer]) -> Answer:
        """Run a question about snapshots, in a turn of the caller's project, with the budget of a decision.

        Raises TooLate as ``plan`` does, CloudUnavailable where too many expensive ones wait, and what the
        question raises: CutShort where the budget is spent."""
        with self._turn(caller) as patience:
            return examination(self._allowance(caller, patience).decision)

    def snapshot(self, pool: Pool) -> CalendarSnapshot:
        """Return the pool's calendar with everything that was committed before this call."""
        return self._of(pool).refreshed()

    def latest(self, pool: Pool) -> CalendarSnapshot:
        """Return the pool's calendar as it was read last: for what looks again at what was refused just
        now."""
        return self._of(pool).latest()

    @contextmanager
    def searching(self, caller: Caller) -> Iterator[AvailabilitySearch]:
        """Search in one snapshot of each pool, in a turn of the caller's project, with one budget for all
        that is searched inside the block.

        Raises TooLate as soon as the caller does not wait for the answer any more."""
        with self._turn(caller) as patience:
            snapshots: dict[Pool, CalendarSnapshot] = {}

            def snapshot(pool: Pool) -> CalendarSnapshot:
                if pool not in snapshots:
                    snapshots[pool] = self._of(pool).refreshed()
                return snapshots[pool]

            yield AvailabilitySearch(
                snapshot, Budget(self._limits.availability, self._has_time(caller, patience))
            )

    @contextmanager
    def _turn(self, caller: Caller) -> Iterator[Patience]:
        project_id = caller.project_id
        with (
            self._turns.taken(project_id, lambda: self._seconds_left(caller)),
            self._requests.planning(project_id, self._turns.is_wanted) as patience,
        ):
            caller.require_time(self._clock.now())
            yield patience

    def plans_waiting(self) -> int:
        """Return how many requests wait for their turn to be planned."""
        return self._turns.waiting()

    def refresh(self, in_full: bool = False) -> None:
        """Compare every resident calendar with the database, and load what changed."""
        for resident in list(self._resident.values()):
            resident.refreshed(in_full)

    def committed(self, generations: Mapping[str, int], allocations: Iterable[Allocation]) -> None:
        """Take over a commit of this process, which compared ``generations`` and added ``allocations``, and
        nothing else, on resources of these generations: it needn't be read from the database."""
        by_resource: dict[str, list[Allocation]] = defaultdict(list)
        for allocation in allocations:
            by_resource[allocation.resource_id].append(allocation)
        commit = [(id_, generation, by_resource[id_]) for id_, generation in generations.items()]
        for resident in list(self._resident.values()):
            resident.committed(commit)

    def copy(self, pool: Pool, in_full: bool = False) -> Calendar:
        """Return a copy of the pool's calendar, with everything that was committed before this call. Without
        ``in_full`` it may have resources that were removed since; a commit that relies on them is refused.

        One thread may plan on it, and write to it what is to be committed."""
        return self._of(pool).copy(in_full)

    @contextmanager
    def patient(self, project_id: str | None = None) -> Iterator[Patience]:
        """Return the patience of work on a copy of a calendar, inside the block; without a project, of the
        manager itself."""
        with self._requests.planning(project_id) as patience:
            yield patience

    def load(self, *pools: Pool) -> None:
        """Make the calendars of these pools resident, so that the first request needn't wait."""
        for pool in pools:
            self._of(pool).refreshed()

    def _plan_beside_others(
        self, requests: Mapping[Pool, PlanRequest], allowance: Allowance, intent: Intent | None
    ) -> Plan | Shortage:
        """Plan, and plan once more where another request has stated meanwhile what this plan takes."""
        for _ in range(2):
            contended = self._contention.contended()
            beside = {pool: replace(each, contended=contended) for pool, each in requests.items()}
            outcome = self._plan(beside, allowance)
            if (
                intent is None
                or isinstance(outcome, Shortage)
                or intent.state(outcome.generations, contended)
            ):
                break
        return outcome

    def _plan(self, requests: Mapping[Pool, PlanRequest], allowance: Allowance) -> Plan | Shortage:
        plans: list[Plan] = []
        for pool, request in requests.items():
            snapshot = self._of(pool).refreshed()
            outcome = plan(snapshot, request, allowance)
            if isinstance(outcome, Shortage):
                newer = self._of(pool).refreshed(in_full=True)
                if newer is not snapshot and not outcome.cut_short:
                    snapshot, outcome = newer, plan(newer, request, allowance)
            if isinstance(outcome, Shortage):
                shortage = with_first_fit(snapshot, request, outcome, allowance)
                return shortage if len(requests) == 1 else self._common_fit(requests, shortage, allowance)
            plans.append(outcome)
        return Plan.joined(plans)

    def _common_fit(
        self, requests: Mapping[Pool, PlanRequest], shortage: Shortage, allowance: Allowance
    ) -> Shortage:
        """Return the shortage of one pool with the first start that suits them all.

        The first start that suits the pool is tried with all pools. Another pool may lack something then; the
        next start to try is the first one that suits that pool. This goes on until nothing is lacking."""
        snapshots = {pool: self._of(pool).refreshed() for pool in requests}
        thrifty = replace(allowance, decision=allowance.first_fit, explanation=allowance.first_fit)
        start = shortage.first_fit
        for _ in range(PROBES):
            if start is None:
                break
            lacking: Shortage | None = None
            for pool, request in requests.items():
                moved = _moved(request, start)
                outcome = plan(snapshots[pool], moved, thrifty)
                if isinstance(outcome, Shortage):
                    lacking = with_first_fit(snapshots[pool], moved, outcome, thrifty)
                    break
            if lacking is None:
                return replace(shortage, first_fit=start)
            start = lacking.first_fit
            if lacking.first_fit_cut_short:
                return replace(shortage, first_fit=None, first_fit_cut_short=True)
        return replace(shortage, first_fit=None)

    def _allowance(self, caller: Caller, patience: Patience) -> Allowance:
        """Return the budgets of a decision that begins now, for a caller who waits until its deadline."""
        limits, has_time = self._limits, self._has_time(caller, patience)
        return Allowance(
            Budget(limits.decision, has_time),
            Budget(limits.decision, lambda: self._is_awaited(caller, patience)),
            Budget(limits.first_fit, has_time),
        )

    def _has_time(self, caller: Caller, patience: Patience) -> Callable[[], None]:
        """Return what a decision that begins now looks at from time to time."""
        ends = self._processor_time() + self._limits.seconds

        def has_time() -> None:
            self._is_awaited(caller, patience)
            if self._processor_time() >= ends:
                raise CutShort

        return has_time

    def _is_awaited(self, caller: Caller, patience: Patience) -> None:
        caller.require_time(self._clock.now())
        patience.breathe()

    def _seconds_left(self, caller: Caller) -> float | None:
        return None if caller.deadline is None else (caller.deadline - self._clock.now()).total_seconds()

    def _of(self, pool: Pool) -> _Resident:
        with self._lock:
            return self._resident.setdefault(pool, _Resident(pool, self._database, self._clock, self._expiry))


def _moved(request: PlanRequest, start: datetime) -> PlanRequest:
    length = request.interval.end - request.interval.start
    return replace(request, interval=Interval(start, start + length))


Commit = Sequence[tuple[str, int, Sequence[Allocation]]]
"""What a commit has added: per resource its id, the generation before, and the new allocations."""


class _Resident:
    """The calendar of one pool."""

    def __init__(self, pool: Pool, database: Database, clock: Clock, expiry: OfferExpiry) -> None:
        self._pool = pool
        self._expiry = expiry
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        """One refresh at a time: an older answer of the database must not overwrite a newer one."""
        self._calendar = Calendar()
        self._own: deque[Commit] = deque()
        """Commits of this process that the calendar does not have yet."""
        self._seen: datetime | None = None
        self._looked_far: datetime | None = None
        """When a refresh looked far back."""
        self._first_expiry: datetime | None = None
        """When the first offer expires. Who makes one raises generations, so it is read again only where
        something has changed."""
        self._begun = 0
        """How many refreshes have begun."""
        self._done = 0
        """The number of the last one that succeeded."""
        self._done_in_full = 0

    def committed(self, commit: Commit) -> None:
        # It is written by the next refresh: a request must not wait for one that is under way.
        self._own.append(commit)

    def refreshed(self, in_full: bool = False) -> CalendarSnapshot:
        """Return a snapshot that has everything that was committed before this call.

        Where another thread's refresh began after this call and is over now, it serves this one too."""
        begun_before = self._begun
        with self._lock:
            done = self._done_in_full if in_full else self._done
            if done <= begun_before:
                self._refresh(in_full)
            return self._calendar.snapshot()

    def latest(self) -> CalendarSnapshot:
        with self._lock:
            return self._calendar.snapshot()

    def copy(self, in_full: bool) -> Calendar:
        self.refreshed(in_full)
        with self._lock:
            return self._calendar.copy()

    def _refresh(self, in_full: bool) -> None:
        self._begun += 1
        begun = self._clock.now()
        while self._own:
            for resource_id, generation, added in self._own.popleft():
                self._calendar.advance(resource_id, generation, added)
        far = self._is_time_to_look_far(begun)
        since = self._seen and self._seen - (LONG_OVERLAP if far else OVERLAP)
        self._read(in_full, since)
        if self._first_expiry is not None and self._first_expiry <= begun:
            self._expiry.remove_some()
            self._read(in_full, begun - LONG_OVERLAP, looks_at_offers=True)
        self._seen = begun
        if far:
            self._looked_far = begun
        self._done = self._begun
        if in_full:
            self._done_in_full = self._begun

    def _is_time_to_look_far(self, now: datetime) -> bool:
        # A clock that was set back has seen nothing of the time that comes again.
        return self._looked_far is None or not timedelta(0) <= now - self._looked_far < LONG_EVERY

    def _read(self, in_full: bool, since: datetime | None, looks_at_offers: bool = False) -> None:
        """Read all at first, then what has changed since."""
        with self._database.read() as uow:
            if since is None:
                # The generations before the allocations: a commit in between makes the later bump Stale.
                resources = ((each.resource, ()) for each in uow.resources.every(self._pool))
                self._calendar.bulk_load(resources, uow.resources.reserved(self._pool))
                looks_at_offers = True
            else:
                looks_at_offers |= self._read_changed(uow, None if in_full else since)
            if looks_at_offers:
                self._first_expiry = uow.offers.first_expiry()

    def _read_changed(self, uow: UnitOfWork, since: datetime | None) -> bool:
        """Return whether anything has changed."""
        stored = uow.resources.generations(self._pool, since)
        if since is None:
            for gone in [i for i in self._calendar if i not in stored]:
                self._calendar.drop(gone)
        known = {i: self._calendar.generation_of(i) for i in stored}
        changed = {i: generation for i, generation in known.items() if generation != stored[i]}
        for each in uow.resources.changes(self._pool, changed) if changed else ():
            resource = each.registration.resource
            if each.lease_ids is None:
                self._calendar.put(resource, each.allocations)
            else:
                self._calendar.change(resource.id, resource.generation, each.lease_ids, each.allocations)
        return bool(changed)
