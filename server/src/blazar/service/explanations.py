"""Explanations of shortages: what could be had instead of what was refused, and what stands in the way.

They are worked out after the refusal, in a turn of their own and with the budget of one question for
availability, and only where a client asks for them: the refusal itself costs what it did. What has changed
since the refusal counts already, so that the first suggestion may be what was refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.lease.lease import Lease
from blazar.domain.planning.blocking import Blocking
from blazar.domain.time import MINUTE, floor_minute
from blazar.service.answers import AvailabilityAnswer, Explained
from blazar.service.availability import AvailabilityUseCases
from blazar.service.commands import (
    AvailabilityQuestion,
    ByDuration,
    CreateLease,
    ReservationsChange,
    UpdateLease,
)
from blazar.service.context import Caller
from blazar.service.leases.dates import moment_of
from blazar.service.ports import Clock, Database, LeaseQuery
from blazar.service.update_suggestions import UpdateSuggestions


@dataclass(frozen=True, slots=True)
class BlockingLease:
    """A lease, or an offer, that stands in the way: on how many resources, and from when to when.

    ``owner`` is None where it has gone meanwhile."""

    start: datetime
    end: datetime
    resources: int
    is_offer: bool = False
    owner: LeaseOwner | None = None


@dataclass(frozen=True, slots=True)
class LeaseOwner:
    """A lease by its name, and who has it."""

    lease_id: str
    name: str
    project_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a refused request could be instead, the best first, and some of the leases in its way: ``more``
    tells how many there are besides. ``cut_short`` tells that not all was searched."""

    suggestions: tuple[AvailabilityAnswer, ...] = ()
    blocking: tuple[BlockingLease, ...] = ()
    more: int = 0
    cut_short: bool = False


class ExplanationUseCases:
    """The use cases of explanations, in this process."""

    def __init__(
        self,
        availability: AvailabilityUseCases,
        updates: UpdateSuggestions,
        database: Database,
        clock: Clock,
    ) -> None:
        self._availability = availability
        self._updates = updates
        self._database = database
        self._clock = clock

    def explain_create(
        self, command: CreateLease, caller: Caller, by_duration: ByDuration | None = None
    ) -> Explanation:
        """Explain why the lease cannot be had."""
        minute = floor_minute(self._clock.now())
        start = moment_of(command.start, minute)
        duration = by_duration.duration if by_duration else moment_of(command.end, minute) - start
        question = AvailabilityQuestion(
            command.reservations,
            command.start,
            duration,
            shortest=shortest_of(duration),
            alternatives=True,
        )
        inquiry = self._availability.inquiry(question, caller)
        return self._explanation(self._availability.explain(inquiry, caller))

    def explain_update(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        duration: timedelta | None = None,
        membership: ReservationsChange | None = None,
    ) -> Explanation:
        """Explain why the lease cannot be changed so."""
        inquiry = self._updates.inquiry(lease_id, command, caller, duration, membership)
        return self._explanation(self._availability.explain(inquiry, caller))

    def find_latest_end(
        self,
        lease_id: str,
        command: UpdateLease,
        caller: Caller,
        latest: datetime,
        membership: ReservationsChange | None = None,
    ) -> datetime:
        """Return the latest end, up to ``latest``, that the change could give the lease now."""
        minute = floor_minute(latest)
        inquiry = self._updates.extension(lease_id, replace(command, end=minute), caller, membership)
        return self._availability.latest_end(inquiry, caller)

    def _explanation(self, explained: Explained) -> Explanation:
        found = explained.found
        return Explanation(found.answers, self._read(explained.blocking), explained.more, found.cut_short)

    def _read(self, found: Sequence[Blocking]) -> tuple[BlockingLease, ...]:
        """Return the leases with what the database knows of them."""
        ids = tuple(each.lease_id for each in found)
        leases: Mapping[str, Lease] = {}
        offered: Mapping[str, Lease] = {}
        if ids:
            with self._database.read() as uow:
                leases = {each.id: each for each in uow.leases.find(LeaseQuery(len(ids), ids=ids)).leases}
                offers = (uow.offers.get(each) for each in ids if each not in leases)
                offered = {each.id: each.lease for each in offers if each is not None}
        known = {id_: _owner(lease) for id_, lease in {**leases, **offered}.items()}
        return tuple(
            BlockingLease(
                each.start, each.end, each.resources, each.lease_id in offered, known.get(each.lease_id)
            )
            for each in found
        )


def shortest_of(duration: timedelta) -> timedelta:
    """Return the shortest duration that is suggested where the user does not say: half of what was asked
    for."""
    return max(MINUTE, duration // 2 // MINUTE * MINUTE)


def _owner(lease: Lease) -> LeaseOwner:
    return LeaseOwner(lease.id, lease.name, lease.project_id, lease.user_id)
