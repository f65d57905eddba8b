"""Who occupies what, as this manager knows it: one resident calendar per pool, kept up with the database.

A calendar may be a moment behind the other managers. That is safe: a plan carries the generations it was made on, and a
commit on older ones is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from blazar.domain.calendar import Calendar
from blazar.domain.planning import Plan, Request, Shortage, plan
from blazar.domain.resource import Pool
from blazar.domain.time import Interval
from blazar.service.ports import Clock, Database

OVERLAP = timedelta(seconds=10)
"""How far each refresh looks back behind the one before: longer than a write transaction lasts and clocks differ."""
PROBES = 16
"""How many starts are tried, at the most, to find one that suits the demands of several pools."""


class Calendars:
    """The resident calendars of all pools. Threads may share it: each look at a calendar is made under its lock."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._resident: dict[Pool, _Resident] = {}
        self._lock = threading.Lock()

    def plan(self, requests: Mapping[Pool, Request]) -> Plan | Shortage:
        """Plan each pool's demands: all or nothing. Before a shortage is told, the calendar is compared in full.

        Raises ValueError without any request."""
        plans: list[Plan] = []
        for pool, request in requests.items():
            resident = self._of(pool)
            outcome = resident.plan(request)
            if isinstance(outcome, Shortage):
                resident.refresh(in_full=True)
                outcome = resident.plan(request)
            if isinstance(outcome, Shortage):
                return replace(outcome, first_fit=self._common_fit(requests, outcome.first_fit))
            plans.append(outcome)
        return Plan.joined(plans)

    def _common_fit(self, requests: Mapping[Pool, Request], start: datetime | None) -> datetime | None:
        """The first start from ``start`` on, which suits one pool, that suits them all; None where none was found.

        What one pool lacks at a start moves the start on to where that pool has it, until nothing is lacking."""
        if len(requests) == 1:
            return start
        for _ in range(PROBES):
            if start is None:
                break
            outcomes = (self._of(pool).plan(_moved(request, start)) for pool, request in requests.items())
            lacking = next((outcome for outcome in outcomes if isinstance(outcome, Shortage)), None)
            if lacking is None:
                return start
            start = lacking.first_fit
        return None

    def refresh(self, in_full: bool = False) -> None:
        """Compare every resident calendar with the database, and load what changed."""
        for resident in list(self._resident.values()):
            resident.refresh(in_full)

    def load(self, *pools: Pool) -> None:
        """Make the calendars of these pools resident, so that the first request needn't wait."""
        for pool in pools:
            self._of(pool).refresh()

    def _of(self, pool: Pool) -> _Resident:
        with self._lock:
            return self._resident.setdefault(pool, _Resident(pool, self._database, self._clock))


def _moved(request: Request, start: datetime) -> Request:
    length = request.interval.end - request.interval.start
    return replace(request, interval=Interval(start, start + length))


class _Resident:
    def __init__(self, pool: Pool, database: Database, clock: Clock) -> None:
        self._pool = pool
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._calendar = Calendar()
        self._seen: datetime | None = None

    def plan(self, request: Request) -> Plan | Shortage:
        with self._lock:
            self._refresh(in_full=False)
            return plan(self._calendar, request)

    def refresh(self, in_full: bool = False) -> None:
        with self._lock:
            self._refresh(in_full)

    def _refresh(self, in_full: bool) -> None:
        begun = self._clock.now()
        with self._database.read() as uow:
            if self._seen is None:
                self._calendar.bulk_load((r.resource, a) for r, a in uow.resources.occupancy(self._pool))
            else:
                since = None if in_full else self._seen - OVERLAP
                stored = uow.resources.generations(self._pool, since)
                changed = [i for i, generation in stored.items() if self._calendar.generation_of(i) != generation]
                if in_full:
                    for gone in set(self._calendar.generations()) - set(stored):
                        self._calendar.drop(gone)
                if changed:
                    for registration, allocations in uow.resources.occupancy(self._pool, changed):
                        self._calendar.put(registration.resource, allocations)
        self._seen = begun
